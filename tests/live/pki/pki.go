// SPDX-License-Identifier: Apache-2.0

// Package pki makes the certificates of one test cluster: an authority, servers and clients, valid for a day, as PEM files.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority signs certificates and writes them into its folder.
type Authority struct {
	Folder string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64
}

// Pair names the files of one certificate and its key.
type Pair struct{ Cert, Key string }

// New makes an authority whose certificate is FOLDER/ca.crt. The folder must exist.
func New(folder string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "berth-live"},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	a := &Authority{Folder: folder, cert: cert, key: key, serial: 1}
	return a, write(a.CA(), "CERTIFICATE", der)
}

// CA is the file of the authority's certificate.
func (a *Authority) CA() string { return filepath.Join(a.Folder, "ca.crt") }

// Pool trusts this authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Issue makes FOLDER/NAME.crt and .key, good as a server on loopback and as a client that is `user` in `groups`.
func (a *Authority) Issue(name, user string, groups ...string) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: pkix.Name{CommonName: user, Organization: groups},
		NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return Pair{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	pair := Pair{Cert: filepath.Join(a.Folder, name+".crt"), Key: filepath.Join(a.Folder, name+".key")}
	if err := write(pair.Cert, "CERTIFICATE", der); err != nil {
		return Pair{}, err
	}
	return pair, write(pair.Key, "PRIVATE KEY", keyDER)
}

// Load reads a pair for a TLS configuration.
func (p Pair) Load() (tls.Certificate, error) { return tls.LoadX509KeyPair(p.Cert, p.Key) }

func write(file, kind string, der []byte) error {
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		return fmt.Errorf("pki: %w", err)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Two client certificates with their keys, made for these tests:
// openssl ecparam -name prime256v1 -genkey -noout -out k.pem; openssl req -x509 -new -key k.pem -subj /CN=client-1
// -days 36500

#include <string>

namespace berth {

inline const std::string kCertificate1 =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBfDCCASOgAwIBAgIUEThrRx3dG6IVa9dOjSs/BDDvJYIwCgYIKoZIzj0EAwIw\n"
    "EzERMA8GA1UEAwwIY2xpZW50LTEwIBcNMjYxMTI3MDAxNjIzWhgPMjEyNjExMDMw\n"
    "MDE2MjNaMBMxETAPBgNVBAMMCGNsaWVudC0xMFkwEwYHKoZIzj0CAQYIKoZIzj0D\n"
    "AQcDQgAEXaz+o+VC9LHPHoG2sPGq2JnV5xjJEQDeI6JWnTQRrYyNrQwCW4G1ZPuD\n"
    "ju1kHJyUrcrOF9oYLFQeOXf/c391M6NTMFEwHQYDVR0OBBYEFFWzPTDHY5cNd5fs\n"
    "zXNy30dpqQaKMB8GA1UdIwQYMBaAFFWzPTDHY5cNd5fszXNy30dpqQaKMA8GA1Ud\n"
    "EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgUlO+lco1v3LibRBhTW4CGAaG\n"
    "DTqAtHnqlvTOIGv2k1ECIB1sTFqZJxJbLfuPEvYepCzhpZbUD3Bdban26kTmSiQC\n"
    "-----END CERTIFICATE-----\n";

inline const std::string kKey1 =
    "-----BEGIN EC PRIVATE KEY-----\n"
    "MHcCAQEEICxFLDS6juT2kby8cy/TJ6gjEZMYaBcJ+Ib1A0GnRI/woAoGCCqGSM49\n"
    "AwEHoUQDQgAEXaz+o+VC9LHPHoG2sPGq2JnV5xjJEQDeI6JWnTQRrYyNrQwCW4G1\n"
    "ZPuDju1kHJyUrcrOF9oYLFQeOXf/c391Mw==\n"
    "-----END EC PRIVATE KEY-----\n";

inline const std::string kCertificate2 =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBfTCCASOgAwIBAgIUc/KIuXL0AgsP1ntL2zD4SxoEJmgwCgYIKoZIzj0EAwIw\n"
    "EzERMA8GA1UEAwwIY2xpZW50LTIwIBcNMjYxMTI3MDAxNjIzWhgPMjEyNjExMDMw\n"
    "MDE2MjNaMBMxETAPBgNVBAMMCGNsaWVudC0yMFkwEwYHKoZIzj0CAQYIKoZIzj0D\n"
    "AQcDQgAEkvUMQbdsqLupH4THMKXOSN7+S2o/MG6ablBebxqogAOGZwfB+BFlzE0f\n"
    "CAmOb/JUvao5dN47FPnDuBUI8XDRK6NTMFEwHQYDVR0OBBYEFBDjOq79tDtavcO5\n"
    "Sn3M7e4mjJuKMB8GA1UdIwQYMBaAFBDjOq79tDtavcO5Sn3M7e4mjJuKMA8GA1Ud\n"
    "EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAIdZJZ8Hq8HFViugS08f/D5J\n"
    "rXfNURn4Ucj/RdZmJ2X7AiAJQSsI09faoFbnHQOyv2wWeckAX9ubJpePQvg2V6Rk\n"
    "Fw==\n"
    "-----END CERTIFICATE-----\n";

inline const std::string kKey2 =
    "-----BEGIN EC PRIVATE KEY-----\n"
    "MHcCAQEEIITf88oyKL9r73mudI0O0m5V5/rCcZNduTDlQ9UFR0eqoAoGCCqGSM49\n"
    "AwEHoUQDQgAEkvUMQbdsqLupH4THMKXOSN7+S2o/MG6ablBebxqogAOGZwfB+BFl\n"
    "zE0fCAmOb/JUvao5dN47FPnDuBUI8XDRKw==\n"
    "-----END EC PRIVATE KEY-----\n";

inline const std::string kEncryptedKey1 =
    "-----BEGIN EC PRIVATE KEY-----\n"
    "Proc-Type: 4,ENCRYPTED\n"
    "DEK-Info: AES-128-CBC,AA9EA10C3891076FAFC8CFA3EC488D8B\n"
    "\n"
    "NG3AMpwkb180Lbz0KaT2ugvwbMCBIZDw9vmsOdr5t/rVQxpBg4kFhOVaPgXWfWPX\n"
    "0fOOfGM2cFSOQIcR4KRyyM/af3fkQkPoJLzHiFhuelWxR/2qty7SjbVHLqg4gh3/\n"
    "/G5SKjfjJrp8mwB19D81YdmnoYogoOItB7KQ/YqNcJA=\n"
    "-----END EC PRIVATE KEY-----\n";

}  // namespace berth

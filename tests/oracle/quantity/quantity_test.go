// SPDX-License-Identifier: Apache-2.0

// Package quantity keeps the table that Berth's quantity parser is tested with (tests/unit/objects/quantities.tsv)
// equal to what resource.ParseQuantity of k8s.io/apimachinery says. `go test ./quantity -update` writes the table.
package quantity

import (
	"bytes"
	"flag"
	"fmt"
	"math/big"
	"math/rand"
	"os"
	"regexp"
	"testing"

	"gopkg.in/inf.v0"
	"k8s.io/apimachinery/pkg/api/resource"
)

const tablePath = "../../unit/objects/quantities.tsv"

var update = flag.Bool("update", false, "write the table instead of comparing it")

// Texts whose reading is easy to get wrong.
var edges = []string{
	"0", "00", "-0", "+0", ".", "+", "-", "m", "Ki", "-.", "+.m", "1.", ".5", "-.5", "007", "1.000", "0.0001", "0.5m",
	"1n", "1u", "1m", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
	"1K", "1KI", "1g", "1mi", "1ki", "1e", "1e+", "1e-", "1E+", "1ei", "1eE", "1E3", "1e3", "1e+3", "1e-3", "1e03", "1e3.5",
	"1e3Ki", "1e3k", "1i", "1Kii", "1KiKi", "1m1", "1k3", "1Ki3", "1E3E", "1.2.3", "..", "1..", "--1", "+-1", "-+1",
	"1 ", " 1", "1 m", "0x10", "1_000", "1,5", "abc", "e3", "E3", ".e3", "+e3", "e", "E", "i", "inf", "NaN", "1e1e1",
	"1e9223372036854775807", "1e9223372036854775808", "1e-9223372036854775808", "1e-9223372036854775809",
	"1e99999999999999999999", "1E99999999999999999999", "1e-99999999999999999999", "0e99999999999999999999", "e99999999999999999999",
	"1e4294967296", "1e4294967297", "1e4294967293", "1e-4294967296", "1e-4294967299", "0e4294967299", "1.5e4294967297",
	"1e00000000000000000000003", "1e+00000000000000000000003", "1e28", "1e27", "-1e28", "1e-9", "1e-10", "1e-30", "-1e-10",
	"0.0000000001", "0.1n", "1.5n", "-1.5n", "0.999999999n", "1.0000000001", "123456789.123456789123", "0.1Ki", "1.5Gi", "0.0001Ki",
	"0.00000000001Ei", "-0.1Ki", "-1.5Gi", "7Ei", "8Ei", "9Ei", "7.999999999Ei", "-9Ei", "9223372036854775807", "9223372036854775808",
	"-9223372036854775808", "-9223372036854775809", "18446744073709551615", "9223372036854775807Ki", "9223372036854775807m",
	"9999999999999999999999999999", "99999999999999999999Ei", "123456789012345678.9", "1234567890123456789.9", "0.1234567890123456789",
	"100000000000000000000m", "12345678901234567890123n", "1e18", "1e19", "1.0e19", "10.0e18", "0.1e20",
	"Mi", "Ti", "Pi", "Ei", "-Pi", ".Pi", "+.Ei", "0Pi", ".0Pi", "n", "-n", "e-9", "e-10", ".e-10", "-.E-12", ".0e-9", "0e-10", "0.e-10", "e19", "000000000000000000000000001",
}

func random(draw *rand.Rand) string {
	digits := func(most int) string {
		text := ""
		for n := draw.Intn(most + 1); n > 0; n-- {
			text += string(rune('0' + draw.Intn(10)))
		}
		return text
	}
	pick := func(texts ...string) string { return texts[draw.Intn(len(texts))] }
	suffix := pick("", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "K", "mi", "i")
	if draw.Intn(4) == 0 {
		suffix = pick("e", "E") + pick("", "-", "+") + digits(2)
	}
	text := pick("", "", "", "-", "+") + digits(20) + pick("", "", ".", ".") + digits(12) + suffix
	if draw.Intn(10) == 0 && text != "" {
		at := draw.Intn(len(text))
		text = text[:at] + pick(".", "e", "-", "i", "0", " ", "x") + text[at:]
	}
	return text
}

// The amount in units of 10^-9, "over" beyond +-10^28 (where Berth caps it), or "refused".
func reading(text string) string {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return "refused"
	}
	amount := quantity.AsDec()
	if amount.Sign() != 0 && amount.Scale() < -40 { // too long to write out
		return "over"
	}
	limit := new(inf.Dec).SetUnscaledBig(new(big.Int).Exp(big.NewInt(10), big.NewInt(28), nil))
	if new(inf.Dec).Abs(amount).Cmp(limit) > 0 {
		return "over"
	}
	nano := new(inf.Dec).Round(amount, 9, inf.RoundExact)
	if nano == nil {
		return "finer than nano"
	}
	return nano.UnscaledBig().String()
}

func table() []byte {
	var out bytes.Buffer
	fmt.Fprintln(&out, "# What resource.ParseQuantity of k8s.io/apimachinery v0.35.4 reads: text, tab, units of 10^-9.")
	fmt.Fprintln(&out, "# Written by `go test ./quantity -update` in tests/oracle.")
	seen := map[string]bool{}
	line := func(text string) {
		if !seen[text] {
			fmt.Fprintf(&out, "%s\t%s\n", text, reading(text))
		}
		seen[text] = true
	}
	for _, text := range edges {
		line(text)
	}
	// Upstream's parser itself computes for minutes where an exponent of many digits goes its long way.
	isSlow := regexp.MustCompile(`[eE][-+]?[0-9]{4,}`)
	draw := rand.New(rand.NewSource(1))
	for i := 0; i < 2000; i++ {
		if text := random(draw); !isSlow.MatchString(text) {
			line(text)
		}
	}
	return out.Bytes()
}

func TestTheTableIsWhatUpstreamReads(t *testing.T) {
	wanted := table()
	if *update {
		if err := os.WriteFile(tablePath, wanted, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	found, err := os.ReadFile(tablePath)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(found, wanted) {
		t.Errorf("%s is not what ParseQuantity reads; `go test ./quantity -update` writes it", tablePath)
	}
}

package text

// anchors are lower-case texts of which every pattern contains at least one.
var anchors = []string{
	"token", "secret", "passw", "passphrase", "credential", "key", "bearer", "basic", "authorization", "://", "?auth=", "&auth=", "?sig", "&sig",
	"sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "akia", "asia", "xox", "aiza", "ya29.", "npm_", "hf_", "pypi-", "sk_", "rk_", "whsec_", "eyj",
}

// byFirst holds the anchors by their first byte, in both cases.
var byFirst = anchorTable()

func anchorTable() (table [256][]string) {
	for _, a := range anchors {
		table[a[0]] = append(table[a[0]], a[1:])
		if upper := a[0] - 'a' + 'A'; a[0] >= 'a' && a[0] <= 'z' {
			table[upper] = append(table[upper], a[1:])
		}
	}
	return table
}

// suspicious tells cheaply whether any pattern can match in s.
func suspicious(s string) bool {
	for i := 0; i < len(s); i++ {
		for _, rest := range byFirst[s[i]] {
			if hasPrefixFold(s[i+1:], rest) {
				return true
			}
		}
	}
	return false
}

// hasPrefixFold tells whether s begins with the lower-case ASCII prefix.
func hasPrefixFold(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := 0; i < len(prefix); i++ {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != prefix[i] {
			return false
		}
	}
	return true
}

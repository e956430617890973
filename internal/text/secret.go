package text

import (
	"regexp"
	"strings"
)

// secretVariable tells whether an environment variable's name promises a secret.
func secretVariable(name string) bool {
	name = strings.ToUpper(name)
	for _, word := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		switch word {
		case "KEY", "KEYS", "PASS", "AUTH", "PAT":
			return true
		}
	}
	return false
}

const (
	// passwords are kinds of keys whose values are secret whatever they look like.
	passwords = `secret|passw(?:or)?d|passphrase`
	// secretNames end a secret-looking key. Plural "tokens" is a count, bare "key" a name.
	secretNames = `(?:` + passwords + `|token|credentials?|(?:api|access|private|secret|auth|account|encryption|signing|client|master|session|storage|deploy|ssh)[_-]?key)`
	// quote is a quotation mark, perhaps escaped inside another string.
	quote = `\\*["']`
)

var (
	keyPattern      = MustPattern(`(?i)^[a-z0-9_.-]*` + secretNames + `$`)
	passwordPattern = MustPattern(`(?i)(?:` + passwords + `)\W*$`)

	tokenPattern = MustPattern(`\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}` +
		`|(?:AKIA|ASIA)[0-9A-Z]{16}|xox[abeoprs]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{20,}` +
		`|pypi-[A-Za-z0-9_-]{20,}|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9]{16,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})`)
	schemePattern = MustPattern(`(?i)\b((?:bearer|basic)\s+)([a-z0-9._~+/=-]{8,})`)
	headerPattern = MustPattern(`(?i)(authorization` + `(?:` + quote + `)?\s*[:=]\s*(?:` + quote + `)?(?:(?:bearer|basic|token|digest)\s+)?)([^\s"'\\,;]{6,})`)
	quotedPattern = MustPattern(`(?i)(` + secretNames + `(?:` + quote + `)?\s*(?::=|=>|==?|:)\s*` + quote + `)([^"'\\\n]+)`)
	barePattern   = MustPattern(`(?i)(` + secretNames + `(?:` + quote + `)?(?::=|=>|==?|:|\s+(?::=|=>|==?|:))\s*)([^\s"'\\,;&<>(){}\[\]]+)`)
	flagPattern   = MustPattern(`(?i)(--?[a-z0-9-]*` + secretNames + `\s+)([^\s"'\\,;&<>(){}\[\]-][^\s"'\\,;&<>(){}\[\]]*)`)
	userPattern   = MustPattern(`(?i)([a-z][a-z0-9+.-]*://)([^\s/?#"'@:]*)(:[^\s/?#"'@]*)?@`)
	queryPattern  = MustPattern(`(?i)([?&](?:[a-z0-9_.-]*(?:token|secret|password|signature|api-?key|credential)|key|sig|auth)=)([^&#\s"'<>\\]+)`)
	pemPattern    = MustPattern(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)`)
)

func hidePrivateKeys(s string) string {
	if !strings.Contains(s, "PRIVATE KEY-----") {
		return s
	}
	return pemPattern().ReplaceAllString(s, Mark)
}

// hidePatterns redacts a part of a line with the patterns that were asked for.
func hidePatterns(s string, what search) string {
	if what&forUsers != 0 {
		s = userPattern().ReplaceAllStringFunc(s, hideUser)
	}
	if what&forQueries != 0 {
		s = hideValues(queryPattern(), s, func(_, v string) bool { return len(v) >= minSecret })
	}
	if what&forHeaders != 0 {
		s = hideValues(headerPattern(), s, func(_, v string) bool { return true })
		s = hideValues(schemePattern(), s, func(_, v string) bool { return mixed(v) })
	}
	if what&forTokens != 0 {
		s = tokenPattern().ReplaceAllStringFunc(s, hideToken)
	}
	if what&forKeys != 0 {
		s = hideValues(quotedPattern(), s, secretUnder)
		s = hideValues(barePattern(), s, secretBare)
		s = hideValues(flagPattern(), s, secretBare)
	}
	return s
}

func hideToken(match string) string {
	if hasDigit(match) {
		return Mark
	}
	return match
}

// hideValues replaces the second group of p where secret says so.
func hideValues(p *regexp.Regexp, line string, secret func(key, value string) bool) string {
	var out strings.Builder
	done := 0
	for _, m := range p.FindAllStringSubmatchIndex(line, -1) {
		key, value := line[m[2]:m[3]], line[m[4]:m[5]]
		if placeholder(value) || !secret(key, value) {
			continue
		}
		out.WriteString(line[done:m[4]])
		out.WriteString(Mark)
		done = m[5]
	}
	if done == 0 {
		return line
	}
	out.WriteString(line[done:])
	return out.String()
}

func hideUser(match string) string {
	m := userPattern().FindStringSubmatch(match)
	scheme, user, password := m[1], m[2], m[3]
	if placeholder(user) || placeholder(strings.TrimPrefix(password, ":")) && password != "" {
		return match
	}
	if len(password) > 1 || len(user) >= 16 && hasDigit(user) {
		return scheme + Mark + "@"
	}
	return match
}

// secretKey tells whether values under this key are secret.
func secretKey(key string) bool { return keyPattern().MatchString(key) }

// secretUnder judges a quoted value under a secret-looking key.
func secretUnder(key, value string) bool {
	if placeholder(value) {
		return false
	}
	if isPassword(key) {
		return len(value) >= 4
	}
	if len(value) < minSecret {
		return false
	}
	return hasDigit(value) || len(value) >= 20 && !strings.Contains(value, " ")
}

// secretBare judges a value without quotes, which in source code is an expression.
func secretBare(key, value string) bool {
	if len(value) >= minSecret && hasDigit(value) {
		return true
	}
	tight := strings.HasSuffix(key, "=")
	return tight && isPassword(key) && len(value) >= 4 &&
		!strings.ContainsAny(value, ".$") && !strings.Contains(strings.ToLower(key), strings.ToLower(value))
}

func isPassword(key string) bool { return passwordPattern().MatchString(key) }

// placeholder tells that a value only stands for a secret.
func placeholder(value string) bool {
	return value != "" && strings.IndexByte("$<{%*[", value[0]) >= 0 || strings.Contains(value, Mark)
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// mixed tells a random value from a word: it has a digit or a capital inside.
func mixed(s string) bool {
	return hasDigit(s) || strings.IndexFunc(s[1:], func(r rune) bool { return r >= 'A' && r <= 'Z' || r == '=' }) >= 0
}

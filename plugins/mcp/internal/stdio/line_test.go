package stdio

import (
	"fmt"
	"strings"
	"testing"
)

func TestIDScanner(t *testing.T) {
	for in, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"result":{}}`:                      `7`,
		`{"result":{"id":1,"x":[{"id":2}]},"jsonrpc":"2.0","id":8}`: `8`,
		`{"result":"a \"id\": 3, \\","id" : "s" }`:                  `"s"`,
		`{"result":{"text":"}]{[,:\"id\":5"},"id":9,"error":null}`:  `9`,
		`{"result":{}}`:             ``,
		`{"id":{"a":1},"result":1}`: ``,
	} {
		for _, step := range []int{1, 3, 1000} {
			var s idScanner
			for rest := in; rest != ""; {
				n := min(step, len(rest))
				s.write([]byte(rest[:n]))
				rest = rest[n:]
			}
			if string(s.id) != want {
				t.Errorf("id of %s in steps of %d = %q, want %q", in, step, s.id, want)
			}
		}
	}
}

func TestLineReader(t *testing.T) {
	long := `{"result":"` + strings.Repeat("y", 200<<10) + `","id":3}`
	r := newLineReader(strings.NewReader("a\r\n\n"+long+"\n"+strings.Repeat("z", 99)+"\nlast"), 100)
	var got []string
	for {
		l, err := r.next()
		if err != nil {
			break
		}
		got = append(got, fmt.Sprintf("%d %v %s", min(len(l.text), 99), l.tooLong, l.id))
	}
	want := "1 false ; 0 false ; 0 true 3; 99 false ; 4 false "
	if s := strings.Join(got, "; "); s != want {
		t.Errorf("lines = %q, want %q", s, want)
	}
}

func TestM24_BatchLine(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-y", "@scope/server"}, `cmd.exe /d /s /v:off /c "^"C:\Program Files\nodejs\npx.cmd^" -y @scope/server"`},
		{[]string{`C:\my files\`}, `cmd.exe /d /s /v:off /c "^"C:\Program Files\nodejs\npx.cmd^" ^^^"C:\my files\\^^^""`},
		{[]string{`a&calc`}, `cmd.exe /d /s /v:off /c "^"C:\Program Files\nodejs\npx.cmd^" ^^^"a^^^&calc^^^""`},
		{[]string{`say "hi"`}, `cmd.exe /d /s /v:off /c "^"C:\Program Files\nodejs\npx.cmd^" ^^^"say \^^^"hi\^^^"^^^""`},
		{[]string{""}, `cmd.exe /d /s /v:off /c "^"C:\Program Files\nodejs\npx.cmd^" ^^^"^^^""`},
	} {
		if got := batchLine("cmd.exe", `C:\Program Files\nodejs\npx.cmd`, tt.args); got != tt.want {
			t.Errorf("batchLine(%q) =\n%s, want\n%s", tt.args, got, tt.want)
		}
	}
	if !isBatch(`C:\x\npx.CMD`) || isBatch(`C:\x\node.exe`) {
		t.Error("isBatch is wrong")
	}
}

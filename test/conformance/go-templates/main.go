// Renders every template of a file of cases with Go's text/template, sprig and the functions of Tinkerbell 0.25, and prints the
// file with what came out. Nothing of it is needed to run or test Kindling; see docs/background/go-templates.md.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"kindling.example/go-templates/workflow"
	"sigs.k8s.io/yaml"
)

type testCase struct {
	Template string  `json:"template"`
	Output   *string `json:"output,omitempty"`
	// Output that is not UTF-8, in base64.
	Bytes []byte `json:"bytes,omitempty"`
	Error string `json:"error,omitempty"`
}

type recording struct {
	RecordedWith string                 `json:"recordedWith"`
	Data         map[string]interface{} `json:"data"`
	// A Hardware object of Tinkerbell, as its YAML has it.
	Hardware json.RawMessage `json:"hardware"`
	Cases    []testCase      `json:"cases"`
}

func main() {
	var all recording
	if err := json.NewDecoder(os.Stdin).Decode(&all); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	all.RecordedWith = fmt.Sprintf("%s text/template, missingkey=error, sprig v3.3.0 HermeticTxtFuncMap with the functions of Tinkerbell 0.25; template name t", strings.Replace(runtime.Version(), "go", "Go ", 1))
	raw, _ := json.Marshal(all.Data)
	for i := range all.Cases {
		// Templates may change their data: each has its own.
		var data map[string]interface{}
		_ = json.Unmarshal(raw, &data)
		if err := workflow.AddHardware(data, all.Hardware); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		all.Cases[i] = record(all.Cases[i].Template, data)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(all); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func record(text string, data map[string]interface{}) testCase {
	result := testCase{Template: text}
	functions := sprig.HermeticTxtFuncMap()
	functions["formatPartition"] = formatPartition
	functions["netmaskToPrefixLength"] = netmaskToPrefixLength
	functions["toYaml"] = toYaml
	functions["fromYaml"] = fromYaml
	parsed, err := template.New("t").Option("missingkey=error").Funcs(functions).Parse(text)
	if err != nil {
		result.Error = err.Error()
		return result
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, data); err != nil {
		result.Error = err.Error()
		return result
	}
	if strings.ToValidUTF8(out.String(), "\uFFFD") != out.String() {
		result.Bytes = out.Bytes()
	} else {
		text := out.String()
		result.Output = &text
	}
	return result
}

// The functions of Tinkerbell 0.25, tink/controller/internal/workflow/template_funcs.go, by what they do.

func formatPartition(dev string, partition int) string {
	switch {
	case strings.HasPrefix(dev, "/dev/disk/"):
		return fmt.Sprintf("%v-part%v", dev, partition)
	case len(dev) > 0 && dev[len(dev)-1] >= '0' && dev[len(dev)-1] <= '9':
		return fmt.Sprintf("%vp%v", dev, partition)
	}
	return fmt.Sprintf("%v%v", dev, partition)
}

func netmaskToPrefixLength(netmask string) (string, error) {
	ip := net.ParseIP(netmask)
	if ip == nil {
		return "", fmt.Errorf("invalid netmask format: %s", netmask)
	}
	if ip.To4() == nil {
		return "", fmt.Errorf("netmask must be IPv4: %s", netmask)
	}
	ones, _ := net.IPMask(ip.To4()).Size()
	return strconv.Itoa(ones), nil
}

func toYaml(value interface{}) (string, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("toYaml: %w", err)
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}

func fromYaml(text string) (interface{}, error) {
	if text == "" {
		return nil, fmt.Errorf("fromYaml: empty YAML input")
	}
	var value interface{}
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return nil, fmt.Errorf("fromYaml: %w", err)
	}
	return value, nil
}

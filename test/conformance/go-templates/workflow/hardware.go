// Package workflow has what Tinkerbell 0.25 shows of a Hardware object to a template. It is named as there, because `printf "%T"`
// prints the name.
package workflow

import (
	"encoding/json"

	"github.com/tinkerbell/tinkerbell/api/v1alpha1/tinkerbell"
)

type templateHardwareData struct {
	Disks      []string
	Interfaces []tinkerbell.Interface
	UserData   string
	Metadata   tinkerbell.HardwareMetadata
	VendorData string
}

// AddHardware gives the data of a template `.Hardware`, `.hardware` and `.references`.
func AddHardware(data map[string]interface{}, object json.RawMessage) error {
	var hardware tinkerbell.Hardware
	if err := json.Unmarshal(object, &hardware); err != nil {
		return err
	}
	data["Hardware"] = templateData(hardware.Spec)
	raw, err := json.Marshal(hardware)
	if err != nil {
		return err
	}
	var plain map[string]interface{}
	if err := json.Unmarshal(raw, &plain); err != nil {
		return err
	}
	data["hardware"] = plain
	data["references"] = map[string]interface{}{}
	return nil
}

func templateData(spec tinkerbell.HardwareSpec) templateHardwareData {
	shown := templateHardwareData{Interfaces: spec.Interfaces}
	for _, disk := range spec.Disks {
		shown.Disks = append(shown.Disks, disk.Device)
	}
	if spec.UserData != nil {
		shown.UserData = *spec.UserData
	}
	if spec.VendorData != nil {
		shown.VendorData = *spec.VendorData
	}
	if spec.Metadata != nil {
		shown.Metadata = *spec.Metadata
	}
	return shown
}

// Prints what ghw, the library of tink-agent 0.25, finds on a machine whose files are below GHW_CHROOT, in the words of
// tink-agent's AgentAttributes. Nothing of it is needed to run or test Kindling; see docs/background/agent-attributes.md.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"

	"github.com/jaypipes/ghw"
	"github.com/jaypipes/ghw/pkg/block"
	"github.com/jaypipes/ghw/pkg/pci"
)

type words map[string]any

func main() {
	quiet := ghw.WithDisableWarnings()
	out := words{"block": []words{}, "network": []words{}, "pci": []words{}, "gpu": []words{}}
	if cpu, err := ghw.CPU(quiet); err == nil {
		processors := []words{}
		// ghw walks over a map: its order is another one at every run.
		sort.Slice(cpu.Processors, func(a, b int) bool { return cpu.Processors[a].ID < cpu.Processors[b].ID })
		for _, p := range cpu.Processors {
			capabilities := p.Capabilities
			if capabilities == nil {
				capabilities = []string{}
			}
			processors = append(processors, words{"id": max(p.ID, 0), "cores": p.TotalCores, "threads": p.TotalHardwareThreads,
				"vendor": p.Vendor, "model": p.Model, "capabilities": capabilities})
		}
		out["cpu"] = words{"totalCores": cpu.TotalCores, "totalThreads": cpu.TotalHardwareThreads, "processors": processors}
	}
	if memory, err := ghw.Memory(quiet); err == nil {
		out["memory"] = words{"total": size(memory.TotalPhysicalBytes), "usable": size(memory.TotalUsableBytes)}
	}
	if disks, err := ghw.Block(quiet); err == nil {
		list := []words{}
		for _, d := range disks.Disks {
			if d.StorageController == block.StorageControllerLoop || d.StorageController == block.StorageControllerUnknown {
				continue
			}
			list = append(list, words{"name": d.Name, "controllerType": d.StorageController.String(), "driveType": d.DriveType.String(),
				"size": size(int64(d.SizeBytes)), "physicalBlockSize": size(int64(d.PhysicalBlockSizeBytes)),
				"vendor": d.Vendor, "model": d.Model, "wwn": d.WWN, "serialNumber": d.SerialNumber})
		}
		out["block"] = list
	}
	// The published image of tink-agent has no ethtool: speeds come from /sys.
	if net, err := ghw.Network(quiet, ghw.WithDisableTools()); err == nil {
		list := []words{}
		for _, n := range net.NICs {
			list = append(list, words{"name": n.Name, "mac": n.MACAddress, "speed": n.Speed, "enabledCapabilities": []string{}})
		}
		out["network"] = list
	}
	if devices, err := ghw.PCI(quiet); err == nil {
		list := []words{}
		for _, d := range devices.Devices {
			list = append(list, named(d))
		}
		out["pci"] = list
	}
	if gpus, err := ghw.GPU(quiet); err == nil {
		list := []words{}
		for _, card := range gpus.GraphicsCards {
			if card.DeviceInfo != nil {
				list = append(list, named(card.DeviceInfo))
			}
		}
		out["gpu"] = list
	}
	if chassis, err := ghw.Chassis(quiet); err == nil {
		out["chassis"] = words{"serial": chassis.SerialNumber, "vendor": chassis.Vendor}
	}
	if bios, err := ghw.BIOS(quiet); err == nil {
		out["bios"] = words{"vendor": bios.Vendor, "version": bios.Version, "releaseDate": bios.Date}
	}
	if board, err := ghw.Baseboard(quiet); err == nil {
		out["baseboard"] = words{"vendor": board.Vendor, "product": board.Product, "version": board.Version, "serialNumber": board.SerialNumber}
	}
	if product, err := ghw.Product(quiet); err == nil {
		out["product"] = words{"name": product.Name, "vendor": product.Vendor, "serialNumber": product.SerialNumber}
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func named(d *pci.Device) words {
	device := words{"vendor": d.Vendor.Name, "product": d.Product.Name, "class": d.Class.Name}
	if d.Driver != "" {
		device["driver"] = d.Driver
	}
	return device
}

// size is humanReadable of tink-agent, by what it does.
func size(bytes int64) string {
	if bytes <= 0 {
		return ""
	}
	units := []string{"B", "KB", "MB", "GB", "TB", "PB", "EB"}
	unit := 0
	for n := bytes; n >= 1024 && unit < len(units)-1; n /= 1024 {
		unit++
	}
	return fmt.Sprintf("%d%s", int64(math.Ceil(float64(bytes)/math.Pow(1024, float64(unit)))), units[unit])
}

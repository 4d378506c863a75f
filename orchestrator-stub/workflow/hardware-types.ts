/**
 * The part of Tinkerbell's Hardware object (v1alpha1, as of 0.25) that templates see as `.Hardware`: one line per field, with
 * its name in Go, its name in YAML and its type. Templates use the names of Go.
 */
const FIELDS: Record<string, string> = {
  Interface: `
    Netboot:netboot:*Netboot
    Isoboot:isoboot:*Isoboot
    DHCP:dhcp:*DHCP
    DisableDHCP:disableDhcp:bool`,
  Netboot: `
    AllowPXE:allowPXE:*bool
    AllowWorkflow:allowWorkflow:*bool
    IPXE:ipxe:*IPXE
    OSIE:osie:*OSIE
    PXELINUX:pxelinux:*PXELINUX
    RPI:rpi:*RPI`,
  Isoboot: 'SourceISO:sourceISO:string',
  IPXE: `
    URL:url:string
    Contents:contents:string
    Binary:binary:string`,
  OSIE: `
    BaseURL:baseURL:string
    Kernel:kernel:string
    Initrd:initrd:string
    KernelParams:kernelParams:[]string`,
  PXELINUX: 'Config:config:string',
  RPI: `
    ConfigTxt:configTxt:string
    FirmwarePath:firmwarePath:string
    SerialNum:serialNum:string`,
  DHCP: `
    MAC:mac:string
    Hostname:hostname:string
    DomainName:domain_name:string
    LeaseTime:lease_time:int64
    NameServers:name_servers:[]string
    TimeServers:time_servers:[]string
    Arch:arch:string
    UEFI:uefi:bool
    IfaceName:iface_name:string
    IP:ip:*IP
    VLANID:vlan_id:string
    ClasslessStaticRoutes:classless_static_routes:[]ClasslessStaticRoute
    TFTPServerName:tftp_server_name:string
    BootFileName:boot_file_name:string`,
  IP: `
    Address:address:string
    Netmask:netmask:string
    Gateway:gateway:string
    Family:family:int64`,
  ClasslessStaticRoute: `
    DestinationDescriptor:destination_descriptor:string
    Router:router:string`,
  HardwareMetadata: `
    State:state:string
    BondingMode:bonding_mode:int64
    Manufacturer:manufacturer:*MetadataManufacturer
    Instance:instance:*MetadataInstance
    Custom:custom:*MetadataCustom
    Facility:facility:*MetadataFacility`,
  MetadataManufacturer: `
    ID:id:string
    Slug:slug:string`,
  MetadataInstance: `
    ID:id:string
    State:state:string
    Hostname:hostname:string
    AllowPxe:allow_pxe:bool
    Rescue:rescue:bool
    OperatingSystem:operating_system:*MetadataInstanceOperatingSystem
    AlwaysPxe:always_pxe:bool
    IpxeScriptURL:ipxe_script_url:string
    Ips:ips:[]*MetadataInstanceIP
    Userdata:userdata:string
    CryptedRootPassword:crypted_root_password:string
    Tags:tags:[]string
    Storage:storage:*MetadataInstanceStorage
    SSHKeys:ssh_keys:[]string
    NetworkReady:network_ready:bool`,
  MetadataInstanceOperatingSystem: `
    Slug:slug:string
    Distro:distro:string
    Version:version:string
    ImageTag:image_tag:string
    OsSlug:os_slug:string`,
  MetadataInstanceIP: `
    Address:address:string
    Netmask:netmask:string
    Gateway:gateway:string
    Family:family:int64
    Public:public:bool
    Management:management:bool`,
  MetadataInstanceStorage: `
    Disks:disks:[]*MetadataInstanceStorageDisk
    Raid:raid:[]*MetadataInstanceStorageRAID
    Filesystems:filesystems:[]*MetadataInstanceStorageFilesystem`,
  MetadataInstanceStorageDisk: `
    Device:device:string
    WipeTable:wipe_table:bool
    Partitions:partitions:[]*MetadataInstanceStorageDiskPartition`,
  MetadataInstanceStorageDiskPartition: `
    Label:label:string
    Number:number:int64
    Size:size:int64
    Start:start:int64
    TypeGUID:type_guid:string`,
  MetadataInstanceStorageRAID: `
    Name:name:string
    Level:level:string
    Devices:devices:[]string
    Spare:spare:int64`,
  MetadataInstanceStorageFilesystem: 'Mount:mount:*MetadataInstanceStorageMount',
  MetadataInstanceStorageMount: `
    Device:device:string
    Format:format:string
    Files:files:[]*MetadataInstanceStorageFile
    Create:create:*MetadataInstanceStorageMountFilesystemOptions
    Point:point:string`,
  MetadataInstanceStorageFile: `
    Path:path:string
    Contents:contents:string
    Mode:mode:int64
    UID:uid:int64
    GID:gid:int64`,
  MetadataInstanceStorageMountFilesystemOptions: `
    Force:force:bool
    Options:options:[]string`,
  MetadataCustom: `
    PreinstalledOperatingSystemVersion:preinstalled_operating_system_version:*MetadataInstanceOperatingSystem
    PrivateSubnets:private_subnets:[]string`,
  MetadataFacility: `
    PlanSlug:plan_slug:string
    PlanVersionSlug:plan_version_slug:string
    FacilityCode:facility_code:string`,
};

export interface HardwareField {
  name: string;
  json: string;
  type: string;
}

export const HARDWARE_TYPES: ReadonlyMap<string, readonly HardwareField[]> = new Map(
  Object.entries(FIELDS).map(([type, lines]) => [
    type,
    lines
      .trim()
      .split('\n')
      .map((line) => {
        const [name = '', json = '', fieldType = ''] = line.trim().split(':');
        return { name, json, type: fieldType };
      }),
  ]),
);

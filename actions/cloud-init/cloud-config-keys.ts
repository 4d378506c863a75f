/** Top-level keys of a cloud-config (cloud-init 22 to 25, modules reference); anything else is silently ignored by it, so almost always a mistake. */
export const CLOUD_CONFIG_KEYS: ReadonlySet<string> = new Set(
  `allow_public_ssh_keys ansible apk_repos apt apt_pipelining apt_reboot_if_required apt_update apt_upgrade authkey_hash autoinstall
  bootcmd byobu_by_default ca-certs ca_certs chef chpasswd cloud_config_modules cloud_final_modules cloud_init_modules
  create_hostname_file datasource datasource_list device_aliases disable_ec2_metadata disable_root disable_root_opts disk_setup drivers
  fan final_message fqdn fs_setup groups growpart grub-dpkg grub_dpkg hostname keyboard landscape launch-index locale locale_configfile
  lxd manage-resolv-conf manage_etc_hosts manage_resolv_conf mcollective merge_how merge_type migrate mount_default_fields mounts
  no_ssh_fingerprints ntp output package_reboot_if_required package_update package_upgrade packages password phone_home power_state
  prefer_fqdn_over_hostname preserve_hostname puppet random_seed reporting resize_rootfs resolv_conf rh_subscription rpi rsyslog runcmd
  salt_minion snap spacewalk ssh ssh_authorized_keys ssh_deletekeys ssh_fp_console_blacklist ssh_genkeytypes ssh_import_id
  ssh_key_console_blacklist ssh_keys ssh_publish_hostkeys ssh_pwauth ssh_quiet_keygen swap system_info timezone ubuntu_advantage
  ubuntu_pro updates user users vendor_data version wireguard write_files yum_repo_dir yum_repos zypper`.split(
    /\s+/,
  ),
);

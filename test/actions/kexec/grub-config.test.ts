import { expect, it } from 'vitest';
import { firstGrubEntry } from '../../../actions/kexec/grub-config.ts';

it('the first entry of a generated grub.cfg is what GRUB starts by default', () => {
  const text = `set default="0"
menuentry 'Ubuntu' --class ubuntu {
	gfxmode $linux_gfx_mode
	linux	/vmlinuz-6.8.0 root=LABEL=cloudimg-rootfs ro "console=tty1 x" quiet\\ loud
	initrd	/microcode.cpio /initrd.img-6.8.0
}
menuentry 'Other' {
	linux /other
	initrd /other.img
}`;
  expect(firstGrubEntry(text)).toEqual({
    kernel: '/vmlinuz-6.8.0',
    initrds: ['/microcode.cpio', '/initrd.img-6.8.0'],
    commandLine: 'root=LABEL=cloudimg-rootfs ro console=tty1 x quiet loud',
  });
  expect(firstGrubEntry('set timeout=1\n')).toBeUndefined();
  expect(firstGrubEntry('linux16 /k a=b\n')).toEqual({ kernel: '/k', initrds: [], commandLine: 'a=b' });
});

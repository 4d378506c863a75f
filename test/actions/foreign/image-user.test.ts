import { expect, it } from 'vitest';
import { imageUser } from '../../../actions/foreign/image-user.ts';

const PASSWD = 'root:x:0:0:root:/root:/bin/sh\napp:x:1000:1001::/:/bin/sh\n';
const GROUP = 'root:x:0:\nstaff:x:50:app\n';

it.each([
  ['', { uid: 0, gid: 0 }],
  ['app', { uid: 1000, gid: 1001 }],
  ['1000', { uid: 1000, gid: 1001 }],
  ['65534', { uid: 65534, gid: 0 }],
  ['app:staff', { uid: 1000, gid: 50 }],
  ['7:8', { uid: 7, gid: 8 }],
])('an image whose user is %j runs as %j', (user, wanted) => {
  expect(imageUser(user, PASSWD, GROUP)).toEqual(wanted);
});

it.each(['nobody', 'app:nogroup', '-1'])(
  'one whose user is %j, whom it does not know, does not run as root',
  (user) => {
    expect(() => imageUser(user, PASSWD, GROUP)).toThrowError(
      expect.objectContaining({ code: 'KND_CONTAINER_FAILED' }),
    );
  },
);

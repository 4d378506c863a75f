import { describe, expect, it } from 'vitest';
import { indexReservations, parseReservations } from '../../../netboot/dhcp/reservations-file.ts';

const good = `
- mac: 52-54-00-AA-00-01
  address: 10.9.0.7
  subnetMask: 255.255.255.0
  hostName: press-7
`;

describe('a reservations file', () => {
  it('finds a machine whatever way its MAC was written', () => {
    expect(indexReservations(parseReservations(good, 'r.yaml')).find('52:54:00:aa:00:01')?.hostName).toBe(
      'press-7',
    );
  });

  it('may be empty', () => {
    expect(parseReservations('', 'r.yaml')).toEqual([]);
  });

  it.each([
    ['a wrong MAC', '- {mac: 52:54, address: 10.9.0.7, subnetMask: 255.255.255.0}', 'MAC address'],
    [
      'a wrong address',
      '- {mac: "52:54:00:aa:00:01", address: 10.9.0, subnetMask: 255.255.255.0}',
      'address',
    ],
    [
      'a misspelled key',
      '- {mac: "52:54:00:aa:00:01", addres: 10.9.0.7, subnetMask: 255.255.255.0}',
      'addres',
    ],
    ['the same MAC twice', good + good.replace('10.9.0.7', '10.9.0.8'), 'stands there twice'],
    ['the same address twice', good + good.replace('AA-00-01', 'AA-00-02'), 'stands there twice'],
  ])('with %s is refused and says where', (_, text, message) => {
    expect(() => parseReservations(text, 'r.yaml')).toThrow(message);
  });
});

/** Texts that firmware vendors leave where a serial number belongs, lower case, without punctuation and spaces. */
const PLACEHOLDERS = new Set([
  'tobefilledbyoem',
  'tobefilled',
  'defaultstring',
  'default',
  'systemserialnumber',
  'systemserial',
  'systemproductname',
  'systemmanufacturer',
  'systemversion',
  'systemuuid',
  'baseboardserialnumber',
  'boardserialnumber',
  'chassisserialnumber',
  'chassisserial',
  'serialnumber',
  'serial',
  'sernum0',
  'productname',
  'notspecified',
  'notavailable',
  'notapplicable',
  'notsupported',
  'notdefined',
  'notsettable',
  'na',
  'none',
  'null',
  'nil',
  'no',
  'unknown',
  'undefined',
  'invalid',
  'empty',
  'blank',
  'oem',
  'tbd',
  'test',
  'sn',
  'badindex',
  'outofspec',
  'type1serialnumber',
  'type2boardserialnumber',
  'type3chassisserialnumber',
]);

/** UUIDs that whole product lines share, in both byte orders where both were met. */
const SHARED_UUIDS = new Set([
  '03000200-0400-0500-0006-000700080009',
  '00020003-0004-0005-0006-000700080009',
  '12345678-1234-5678-90ab-cddeefaabbcc',
  '78563412-3412-7856-90ab-cddeefaabbcc',
  '12345678-1234-1234-1234-123456789abc',
  '01234567-8910-1112-1314-151617181920',
  '00112233-4455-6677-8899-aabbccddeeff',
  '4c4c4544-0000-2010-8020-80c04f202020',
]);

/** Why a text is no serial number, or undefined if it may be one. */
export function whyJunkText(text: string | undefined): string | undefined {
  const bare = (text ?? '').toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  if (bare === '') return 'empty';
  if (PLACEHOLDERS.has(bare)) return 'a placeholder of the vendor';
  if (/^(.)\1*$/.test(bare)) return 'one character only';
  if (isCounting(bare)) return 'counts up';
  return undefined;
}

/** Why a UUID identifies nothing, or undefined if it may be one. */
export function whyJunkUuid(uuid: string | undefined): string | undefined {
  if (uuid === undefined || uuid === '') return 'empty';
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uuid)) return 'not a UUID';
  if (SHARED_UUIDS.has(uuid)) return 'shared by whole product lines';
  const bytes = uuid.replaceAll('-', '').match(/../g) ?? [];
  if (new Set(bytes).size === 1) return 'one byte repeated';
  if (new Set(bytes).size <= 2 && bytes.filter((byte) => byte === '00' || byte === 'ff').length >= 14) {
    return 'nearly all zero or all ones';
  }
  return undefined;
}

/** 123456789, 0123456789abcdef, 1234567890123…: typed by a person who wanted to get on. */
function isCounting(bare: string): boolean {
  return (
    bare.length >= 5 && ('0123456789'.repeat(4).includes(bare) || '0123456789abcdef'.repeat(3).includes(bare))
  );
}

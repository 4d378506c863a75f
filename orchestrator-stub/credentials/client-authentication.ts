/**
 * A token request with the client of its `Authorization: Basic` header, which RFC 6749 (2.3.1) wants servers to take: id and
 * secret are form-encoded inside of it. A client that the form names itself stays.
 */
export function withBasicClient(form: URLSearchParams, authorization: string | undefined): URLSearchParams {
  const encoded = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined || form.has('client_id')) return form;
  const [id = '', secret] = Buffer.from(encoded, 'base64').toString('utf8').split(/:(.*)/s);
  if (secret === undefined) return form;
  const decoded = new URLSearchParams(`client_id=${id}&client_secret=${secret}`);
  const client = [...decoded].filter(([key]) => key === 'client_id' || key === 'client_secret');
  return new URLSearchParams([...form].filter(([key]) => key !== 'client_secret').concat(client.slice(0, 2)));
}

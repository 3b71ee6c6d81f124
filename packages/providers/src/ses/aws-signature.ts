import { createHash, createHmac } from 'node:crypto'

/** An AWS access key; `sessionToken` belongs to temporary ones. */
export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** A request to be signed. */
export interface SignedRequest {
  readonly method: string
  readonly host: string
  /** URI-encoded, without the query. */
  readonly path: string
  /** URI-encoded and sorted by name, without the question mark. */
  readonly query?: string
  /** The signed header fields by name in lower case; `host` and `x-amz-date` are added. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * The header fields of a request to AWS, with its signature (Signature Version 4,
 * docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html).
 */
export function signAwsRequest(
  { method, host, path, query = '', headers, body }: SignedRequest,
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
  scope: { readonly region: string; readonly service: string },
  now: number,
): Record<string, string> {
  const time = new Date(now).toISOString().replace(/[:-]|\.\d{3}/g, '')
  const day = time.slice(0, 8)
  const signed: Record<string, string> = {
    ...headers,
    host,
    'x-amz-date': time,
    ...(sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken }),
  }
  const names = Object.keys(signed).sort()
  const fields = names.map((name) => `${name}:${signed[name]?.trim().replace(/ +/g, ' ')}\n`).join('')
  const canonical = [method, path, query, fields, names.join(';'), sha256(body)].join('\n')
  const credentialScope = `${day}/${scope.region}/${scope.service}/aws4_request`
  const key = [day, scope.region, scope.service, 'aws4_request'].reduce<string | Buffer>(
    (previous, part) => hmac(previous, part),
    `AWS4${secretAccessKey}`,
  )
  const signature = hmac(key, ['AWS4-HMAC-SHA256', time, credentialScope, sha256(canonical)].join('\n')).toString('hex')
  const { host: _, ...sent } = signed
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${credentialScope}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

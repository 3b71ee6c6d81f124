import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** A self-signed certificate of RSA, valid from yesterday for a year, and its key. */
export interface Certificate {
  readonly pem: string
  readonly key: KeyObject
}

/** Writes the DER of X.509 (RFC 5280) by hand, as far as a self-signed certificate needs it. */
export function selfSigned(name: string): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const sha256WithRsa = sequence(Buffer.from('06092a864886f70d01010b0500', 'hex'))
  const commonName = sequence(set(sequence(Buffer.from('0603550403', 'hex'), tagged(0x0c, Buffer.from(name)))))
  const day = 86_400_000
  const content = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, Buffer.from([1])),
    sha256WithRsa,
    commonName,
    sequence(time(Date.now() - day), time(Date.now() + 365 * day)),
    commonName,
    publicKey.export({ type: 'spki', format: 'der' }),
  )
  const signature = tagged(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', content, privateKey)]))
  const body = sequence(content, sha256WithRsa, signature).toString('base64').replace(/.{64}/g, '$&\n')
  return { pem: `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`, key: privateKey }
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts))
}

function set(...parts: readonly Buffer[]): Buffer {
  return tagged(0x31, Buffer.concat(parts))
}

function time(at: number): Buffer {
  const digits = new Date(at).toISOString().replace(/[-:T]|\.\d{3}/g, '')
  return tagged(0x18, Buffer.from(digits))
}

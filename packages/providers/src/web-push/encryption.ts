import { createCipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto'
import type { Subscription } from './subscription.ts'

const recordBytes = 4_096
const overheadBytes = 16 + 4 + 1 + 65 + 1 + 16

/** The maximum length of a plaintext, in bytes: push services must accept 4096 bytes of ciphertext (RFC 8030 §7.2). */
export const maxPlaintextBytes = recordBytes - overheadBytes

/** Encrypts a plaintext for a browser, in a single record (RFC 8291 §3.4, RFC 8188 §2). */
export function encryptPush(plaintext: Buffer, { publicKey, auth }: Pick<Subscription, 'publicKey' | 'auth'>): Buffer {
  const ours = createECDH('prime256v1')
  const ourKey = ours.generateKeys()
  const shared = ours.computeSecret(publicKey)
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), publicKey, ourKey])
  const input = Buffer.from(hkdfSync('sha256', shared, auth, info, 32))
  const salt = randomBytes(16)
  const derive = (name: string, bytes: number) =>
    Buffer.from(hkdfSync('sha256', input, salt, `Content-Encoding: ${name}\0`, bytes))
  const cipher = createCipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12))
  const sealed = [cipher.update(plaintext), cipher.update(lastRecord), cipher.final(), cipher.getAuthTag()]
  const size = Buffer.alloc(4)
  size.writeUInt32BE(recordBytes)
  return Buffer.concat([salt, size, Buffer.from([ourKey.length]), ourKey, ...sealed])
}

const lastRecord = Buffer.from([2])

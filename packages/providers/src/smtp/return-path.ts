import { createHmac } from 'node:crypto'
import { constantTimeEqual } from '../signature/equal.ts'

/** Return paths that identify a delivery and cannot be forged (VERP, variable envelope return path). */
export interface ReturnPaths {
  /** `bounce+<delivery>.<proof>@<domain>`, whose local part fits the 64 octets of RFC 5321 §4.5.3.1.1. */
  create(deliveryId: string): string
  /** The delivery of a return path made with the same secret, or undefined for any other address. */
  parse(address: string): string | undefined
}

const proofDigits = 20
const pattern = new RegExp(`^bounce\\+([0-9a-f]{32})\\.([0-9a-f]{${proofDigits}})@([^@\\s]+)$`)

/** Return paths of a domain. The proof in them is an HMAC-SHA-256 with a key derived from the secret. */
export function createReturnPaths(domain: string, secret: string): ReturnPaths {
  const key = createHmac('sha256', secret).update('return path').digest()
  const proofOf = (id: string) => createHmac('sha256', key).update(id).digest('hex').slice(0, proofDigits)
  return {
    create(deliveryId) {
      const id = deliveryId.replaceAll('-', '')
      return `bounce+${id}.${proofOf(id)}@${domain}`
    },
    parse(address) {
      const [, id, proof, host] = pattern.exec(address.trim().toLowerCase()) ?? []
      if (id === undefined || proof === undefined || host !== domain.toLowerCase()) return undefined
      if (!constantTimeEqual(proof, proofOf(id))) return undefined
      return id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    },
  }
}

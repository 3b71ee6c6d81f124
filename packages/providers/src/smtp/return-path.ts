import { createHmac, timingSafeEqual } from 'node:crypto'

/** Return paths that lead back to their delivery, and that nobody else can make (VERP). */
export interface ReturnPaths {
  /** `bounce+<delivery>.<proof>@<domain>`; its local part stays within the 64 octets of RFC 5321 §4.5.3.1.1. */
  create(deliveryId: string): string
  /** The delivery that a return path of ours leads to, undefined for anything else. */
  parse(address: string): string | undefined
}

const proofDigits = 20
const pattern = new RegExp(`^bounce\\+([0-9a-f]{32})\\.([0-9a-f]{${proofDigits}})@([^@\\s]+)$`)

export function createReturnPaths(domain: string, secret: string): ReturnPaths {
  const key = createHmac('sha256', secret).update('return path').digest()
  const proofOf = (id: string) => createHmac('sha256', key).update(id).digest('hex').slice(0, proofDigits)
  return {
    create(deliveryId) {
      const id = deliveryId.replaceAll('-', '')
      return `bounce+${id}.${proofOf(id)}@${domain}`
    },
    parse(address) {
      const [, id, proof, at] = pattern.exec(address.trim().toLowerCase()) ?? []
      if (id === undefined || proof === undefined || at !== domain.toLowerCase()) return undefined
      if (!timingSafeEqual(Buffer.from(proof), Buffer.from(proofOf(id)))) return undefined
      return id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    },
  }
}

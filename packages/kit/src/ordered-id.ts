import { randomUUIDv7 } from 'node:crypto'

let last = ''

/**
 * A UUIDv7 (RFC 9562 §5.7) that is greater than all former ones of this process: within a millisecond the last one is
 * incremented (§6.2, method 2), so that pages ordered by id are in the order of creation.
 */
export function orderedId(): string {
  const id = randomUUIDv7()
  last = id > last ? id : successorOf(last)
  return last
}

const counterDigits = 12

function successorOf(id: string): string {
  const counter = BigInt(`0x${id.slice(-counterDigits)}`) + 1n
  const digits = counter.toString(16).padStart(counterDigits, '0')
  // The 48-bit counter starts at random, so an overflow is practically impossible.
  return digits.length > counterDigits ? randomUUIDv7() : id.slice(0, -counterDigits) + digits
}

import { randomUUIDv7 } from 'node:crypto'

let last = ''

/**
 * A UUIDv7 (RFC 9562 §5.7) that is greater than all this process made before: within a millisecond the last one is counted
 * up (§6.2, method 2), so that what is paged by id is in the order in which it happened.
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
  // Of 2^48 the counter begins at random: it runs over once in millions of years of full use.
  return digits.length > counterDigits ? randomUUIDv7() : id.slice(0, -counterDigits) + digits
}

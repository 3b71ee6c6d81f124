import { timingSafeEqual } from 'node:crypto'

/** Whether two strings are equal, in a time that depends on the content of neither. Their lengths may leak. */
export function constantTimeEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

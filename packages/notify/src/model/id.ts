import { randomUUIDv7 } from 'node:crypto'
import { type Channel, channels } from './channel.ts'
import { hashOfUser } from './work/user-token.ts'

/**
 * Ids are UUIDv7 whose last five hexadecimal digits say where they belong: one for the channel (0 for a notification
 * itself, 1 to 4 for its delivery on a channel), four for the slot of the user. So an id that comes back from outside
 * leads to its bucket without a scan, a delivery's id leads to its notification's, and a notification can't have two
 * deliveries on one channel. The slot never changes; the bucket is the slot modulo the number of buckets, so that rows
 * can be copied into a database with more buckets and keep their ids.
 */
const channelDigitAt = 31
const slotDigits = 4

const slots = 16 ** slotDigits

/** The slot of a user, of 65,536: the last bits of a fixed hash. */
export function slotOfUser(userId: string): number {
  return hashOfUser(userId) % slots
}

/** The bucket of a slot in a database of so many. */
export function bucketOfSlot(slot: number, buckets: number): number {
  return slot % buckets
}

/** The bucket of a user in a database of so many. */
export function bucketOfUser(userId: string, buckets: number): number {
  return buckets === 1 ? 0 : bucketOfSlot(slotOfUser(userId), buckets)
}

/** The bucket of a hash in hexadecimal digits, of what belongs to no user for good: its first four are the slot. */
export function bucketOfHash(hash: string, buckets: number): number {
  return bucketOfSlot(Number.parseInt(hash.slice(0, slotDigits), 16), buckets)
}

/** A fresh id of a record that belongs to a user, of a notification or of any other but a delivery. */
export function newIdOfUser(userId: string): string {
  return newId(slotOfUser(userId))
}

/** A fresh id of a record that belongs to the same user as the record with another id. */
export function newIdBeside(id: string): string {
  return newId(slotOfId(id))
}

/** A fresh id in a slot. Of records of no user it is 0. */
export function newId(slot: number): string {
  return withTail(inTurn(randomUUIDv7()), 0, slot)
}

let latestMs = 0
let turn = 0
let latest = { ms: 0, text: '' }

/** Those of one process sort as they were made, also within a millisecond: the 12 bits after its time count them (RFC 9562, section 6.2). */
function inTurn(uuid: string): string {
  const now = Date.now()
  turn = now > latestMs ? Number.parseInt(uuid.slice(15, 18), 16) >> 1 : turn + 1
  latestMs = Math.max(now, latestMs)
  if (turn > 0xfff) {
    latestMs++
    turn = 0
  }
  if (latest.ms !== latestMs) {
    const time = latestMs.toString(16).padStart(12, '0')
    latest = { ms: latestMs, text: `${time.slice(0, 8)}-${time.slice(8)}-7` }
  }
  return `${latest.text}${turn.toString(16).padStart(3, '0')}${uuid.slice(18)}`
}

function withTail(uuid: string, channelDigit: number, slot: number): string {
  return `${uuid.slice(0, channelDigitAt)}${channelDigit}${slot.toString(16).padStart(slotDigits, '0')}`
}

/** The digit that says the channel in the id of a delivery: its 32nd character. */
export function channelDigitOf(channel: Channel): string {
  return String(channels.indexOf(channel) + 1)
}

/** The one delivery of a notification on a channel. */
export function deliveryIdOf(notificationId: string, channel: Channel): string {
  return `${notificationId.slice(0, channelDigitAt)}${channelDigitOf(channel)}${notificationId.slice(-slotDigits)}`
}

/** The notification that a delivery belongs to. */
export function notificationIdOf(deliveryId: string): string {
  return `${deliveryId.slice(0, channelDigitAt)}0${deliveryId.slice(-slotDigits)}`
}

/** The end of the notification that an id belongs to: its deliveries sort before it, all later ones after it. */
export function lastDeliveryId(id: string): string {
  return `${id.slice(0, channelDigitAt)}f${id.slice(-slotDigits)}`
}

/** The channel of a delivery, undefined for an id that is none. */
export function channelOf(deliveryId: string): Channel | undefined {
  return channels[Number.parseInt(deliveryId[channelDigitAt] ?? '0', 16) - 1]
}

/** The slot of the user that an id belongs to. */
function slotOfId(id: string): number {
  return Number.parseInt(id.slice(-slotDigits), 16)
}

/** The bucket that an id belongs to in a database of so many. */
export function bucketOfId(id: string, buckets: number): number {
  return buckets === 1 ? 0 : bucketOfSlot(slotOfId(id), buckets)
}

/** When an id was made, in Unix milliseconds. */
export function createdAtOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

/** The smallest id made at a time (Unix milliseconds): ids made earlier sort before it. */
export function firstIdAt(unixMilliseconds: number): string {
  const hex = unixMilliseconds.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

/** The pattern of an id, for schemas. */
export const idPattern = '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'

import type { OutgoingMessage } from '../model/message.ts'

/** The data of a push for the app, in addition to its text. Strings only, as FCM requires. */
export interface PushData {
  readonly delivery_id: string
  readonly notification_id: string
  readonly event: string
  /** See {@link OutgoingMessage.receiptToken}. */
  readonly receipt_token?: string
}

/** The data of a push. */
export function createPushData({ deliveryId, notificationId, event, receiptToken }: OutgoingMessage): PushData {
  return {
    delivery_id: deliveryId,
    notification_id: notificationId,
    event,
    ...(receiptToken === undefined ? {} : { receipt_token: receiptToken }),
  }
}

/** The message without its receipt token. */
export function omitReceiptToken({ receiptToken: _, ...message }: OutgoingMessage): OutgoingMessage {
  return message
}

/** The payload of a push; without the receipt token if its JSON is longer than `maxBytes` otherwise. */
export function fitPayload(
  message: OutgoingMessage,
  createPayload: (message: OutgoingMessage) => object,
  maxBytes: number,
): object {
  const payload = createPayload(message)
  if (message.receiptToken === undefined || Buffer.byteLength(JSON.stringify(payload)) <= maxBytes) return payload
  return createPayload(omitReceiptToken(message))
}

/** The size of a push as a service counts it, and its limit, in bytes. */
export interface PushSize {
  readonly bytes: number
  readonly maxBytes: number
}

/** The size of the JSON that {@link fitPayload} makes. */
export function measurePayload(
  message: OutgoingMessage,
  createPayload: (message: OutgoingMessage) => object,
  maxBytes: number,
): PushSize {
  return { bytes: Buffer.byteLength(JSON.stringify(fitPayload(message, createPayload, maxBytes))), maxBytes }
}

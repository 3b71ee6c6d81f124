import type { OutgoingMessage } from '../model/provider.ts'

/** What a push tells the app beside its text: strings alone, as FCM takes them. */
export interface PushData {
  readonly delivery_id: string
  readonly notification_id: string
  readonly event: string
  /** Reports at POST /v1/receipts what became of the push. */
  readonly receipt_token?: string
}

export function createPushData({ deliveryId, notificationId, event, receiptToken }: OutgoingMessage): PushData {
  return {
    delivery_id: deliveryId,
    notification_id: notificationId,
    event,
    ...(receiptToken === undefined ? {} : { receipt_token: receiptToken }),
  }
}

export function omitReceiptToken({ receiptToken: _, ...message }: OutgoingMessage): OutgoingMessage {
  return message
}

/** A payload, without the receipt token where that is what makes its JSON longer than `maxBytes`. */
export function fitPayload(
  message: OutgoingMessage,
  payloadOf: (message: OutgoingMessage) => object,
  maxBytes: number,
): object {
  const payload = payloadOf(message)
  if (message.receiptToken === undefined || Buffer.byteLength(JSON.stringify(payload)) <= maxBytes) return payload
  return payloadOf(omitReceiptToken(message))
}

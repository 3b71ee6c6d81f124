import { measureApns } from './apns/apns.ts'
import { measureFcm } from './fcm/fcm.ts'
import type { OutgoingMessage } from './model/message.ts'
import type { PushSize } from './push/push-data.ts'
import { measureWebPush } from './web-push/web-push.ts'

/**
 * How large a push is with each service, in bytes as the service counts them. One that is larger than `maxBytes` is
 * refused; the receipt token is left out where it does not fit.
 *
 * @example
 * const { bytes, maxBytes } = measurePush(message).apns
 */
export function measurePush(message: OutgoingMessage): Readonly<Record<'fcm' | 'apns' | 'web', PushSize>> {
  return { fcm: measureFcm(message), apns: measureApns(message), web: measureWebPush(message) }
}

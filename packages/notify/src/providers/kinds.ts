import { apns } from './apns.ts'
import { fcm } from './fcm.ts'
import { http } from './http.ts'
import type { ProviderKind } from './kind.ts'
import { sendgrid } from './sendgrid.ts'
import { ses } from './ses.ts'
import { smtp } from './smtp.ts'
import { twilio } from './twilio.ts'
import { webPush } from './web-push.ts'

/** Every provider that can be declared. */
export const providerKinds: readonly ProviderKind[] = [smtp, ses, sendgrid, fcm, apns, webPush, twilio, http]

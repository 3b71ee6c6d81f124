import { apns } from './apns/apns.ts'
import { fcm } from './fcm/fcm.ts'
import { http } from './http/http.ts'
import type { ProviderKind } from './kind/provider-kind.ts'
import { sendgrid } from './sendgrid/sendgrid.ts'
import { ses } from './ses/ses.ts'
import { smtp } from './smtp/smtp.ts'
import { twilio } from './twilio/twilio.ts'
import { webPush } from './web-push/web-push.ts'

/** All kinds of providers. To add one, define it in a folder of its own and add a line here. */
export const providerKinds: readonly ProviderKind[] = [smtp, ses, sendgrid, fcm, apns, webPush, twilio, http]

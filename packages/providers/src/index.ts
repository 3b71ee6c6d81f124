/**
 * Sends messages by email, push and SMS, and reads the reports about them. One interface for all providers: `send`
 * resolves to a typed result for each message, `reports.read` verifies a webhook and returns typed reports.
 */
export { createProvider } from './create-provider.ts'
export {
  checkWebhookHeaders,
  parseWebhookKey,
  signWebhook,
  type VerifiedWebhook,
  verifyWebhook,
} from './http/standard-webhooks.ts'
export {
  defineProvider,
  type MessageSender,
  type ProviderContext,
  type ProviderDefinition,
  type ProviderKind,
  type ProviderOptions,
} from './kind/provider-kind.ts'
export { providerKinds } from './kinds.ts'
export { createHeaders } from './mail/mail.ts'
export type { Channel } from './model/channel.ts'
export type { Clock } from './model/clock.ts'
export type { Content, OutgoingMessage, Target } from './model/message.ts'
export type { Provider } from './model/provider.ts'
export type { ReadResult, Report, ReportHeaders, ReportReader, ReportRequest, ReportType } from './model/report.ts'
export type {
  Accepted,
  Ambiguous,
  DeadToken,
  Misconfigured,
  Permanent,
  RateLimited,
  SendResult,
  Transient,
} from './model/send-result.ts'
export type { PushSize } from './push/push-data.ts'
export { measurePush } from './push-sizes.ts'
export { createDeadlines, type Deadline } from './transport/deadlines.ts'

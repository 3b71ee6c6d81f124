export {
  checkWebhookHeaders,
  parseWebhookKey,
  signWebhook,
  type VerifiedWebhook,
  verifyWebhook,
} from './http/standard-webhooks.ts'
export type { ProviderContext, ProviderKind } from './kind/provider-kind.ts'
export { providerKinds } from './kinds.ts'
export type { Channel } from './model/channel.ts'
export type { Clock } from './model/clock.ts'
export type { Content, OutgoingMessage, Provider, SendResult, Target } from './model/provider.ts'
export type {
  ReadResult,
  Report,
  ReportHeaders,
  ReportReader,
  ReportRequest,
  ReportType,
} from './model/report.ts'
export { createDeadlines, type Deadline } from './transport/deadlines.ts'

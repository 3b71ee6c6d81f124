export type { BulkLine, BulkOptions, KeyedEvent } from './bulk/notify-bulk.ts'
export { notifyBulk } from './bulk/notify-bulk.ts'
export { call } from './call/call.ts'
export type { ClientConnection, ConnectionOptions } from './call/connection.ts'
export { connect } from './call/connection.ts'
export type { Credentials } from './call/credentials.ts'
export type { Hooks, RequestEvent, ResponseEvent, RetryEvent } from './call/hooks.ts'
export type { AnswerFacts, CallOptions, CallRequest } from './call/request.ts'
export { apiKey } from './credentials/api-key.ts'
export { bearer } from './credentials/bearer.ts'
export { type ClientCredentialsOptions, clientCredentials } from './credentials/client-credentials.ts'
export { refreshing, type TokenStore, type UserTokens } from './credentials/refreshing.ts'
export {
  ApiError,
  AuthenticationError,
  ConflictError,
  type Fault,
  NotFoundError,
  PermissionError,
  PreconditionFailedError,
  type ProblemDetails,
  RateLimitError,
  type Refusal,
  ServiceUnavailableError,
  StepUpRequiredError,
  ValidationError,
} from './errors/api-error.ts'
export {
  ConnectionError,
  type ErrorCode,
  GatehouseError,
  type GatehouseErrorOptions,
  OAuthError,
  SignatureError,
  TimeoutError,
} from './errors/gatehouse-error.ts'
export { type ErrorOfCode, isGatehouseError } from './errors/is-gatehouse-error.ts'
export { createGatehouse, type Gatehouse } from './gatehouse.ts'
export type { PathParameters, Query, QueryValue } from './http/address.ts'
export type { ClientIdentity, ClientKey } from './oauth/client-authentication.ts'
export type { TokenEndpointOptions } from './oauth/token-endpoint.ts'
export type { OperationFacts } from './operations/operation-facts.ts'
export { type Input, requestOf } from './operations/operation-request.ts'
export { operations } from './operations/operations.gen.ts'
export type * from './operations/types.gen.ts'
export { List, type ListPage, type ReadPage } from './paging/list.ts'
export type { Clock, Platform } from './platform/platform.ts'
export type { ServerSentEvent } from './stream/event-parser.ts'
export { events, type StreamOptions } from './stream/events.ts'
export type * from './webhooks/message.ts'
export { type SignedHeaders, type SignWebhookOptions, signWebhook } from './webhooks/sign.ts'
export {
  type VerifiedWebhook,
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookHeaders,
} from './webhooks/verify.ts'

export { type Behaviour, createScript, type Fake, type FakeReport, type Script } from './fake.ts'
export type { ClientCredentials } from './identity/client-authentication.ts'
export { type GitHubFake, startGitHub } from './identity/github.ts'
export type { Misbehaviour } from './identity/misbehaviour.ts'
export { type OidcFake, type OidcOptions, startOidc, type UpstreamUser } from './identity/oidc.ts'
export { type ApnsFake, type ApnsMessage, startApns } from './providers/apns.ts'
export { type FcmFake, type FcmMessage, startFcm } from './providers/fcm.ts'
export { type HttpMessage, startHttp } from './providers/http.ts'
export { type SendgridFake, type SendgridMail, startSendgrid } from './providers/sendgrid.ts'
export { type SesFake, type SesMail, startSes } from './providers/ses.ts'
export { type SmtpFake, type SmtpMail, startSmtp } from './providers/smtp.ts'
export { startTwilio, type TwilioMessage } from './providers/twilio.ts'
export { startWebPush, type WebPushFake, type WebPushMessage } from './providers/web-push.ts'
export { selfSigned } from './server/certificate.ts'
export {
  answerTo,
  type FakeAnswer,
  type FakeRequest,
  type HttpFakeOptions,
  type Seen,
  startHttpFake,
} from './server/http-server.ts'

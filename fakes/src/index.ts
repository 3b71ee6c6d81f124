export { type ApnsFake, type ApnsMessage, startApns } from './apns.ts'
export { type Behaviour, createScript, type Fake, type FakeReport, type Script } from './fake.ts'
export { type FcmFake, type FcmMessage, startFcm } from './fcm.ts'
export { type HttpMessage, startHttp } from './http.ts'
export {
  answerTo,
  type FakeAnswer,
  type FakeRequest,
  type HttpFakeOptions,
  type Seen,
  startHttpFake,
} from './http-server.ts'
export { type SendgridFake, type SendgridMail, startSendgrid } from './sendgrid.ts'
export { type SesFake, type SesMail, startSes } from './ses.ts'
export { type SmtpFake, type SmtpMail, startSmtp } from './smtp.ts'
export { startTwilio, type TwilioMessage } from './twilio.ts'
export { startWebPush, type WebPushFake, type WebPushMessage } from './web-push.ts'

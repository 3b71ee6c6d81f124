import { createProvider } from '@gatehouse/providers'

const email = createProvider({ provider: 'smtp', url: process.env.SMTP_URL }, { from: 'Shop <hello@example.com>' })
const id = '0198c0de-7a11-7000-8000-000000000001' // a UUIDv7, the same at every attempt
const message = {
  id,
  deliveryId: id,
  notificationId: id,
  userId: 'alice',
  channel: 'email',
  event: 'order.shipped',
  critical: false,
  target: { id: 'email', address: 'alice@example.com' },
  content: { subject: 'Order A-1', body: 'Order A-1 left.', locale: 'en' },
} as const
const [result] = await email.send([message], AbortSignal.timeout(email.timeoutMs))
console.log(result?.kind)
await email.close?.()

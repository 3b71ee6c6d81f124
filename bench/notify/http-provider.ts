import { createProvider, type Provider } from '@gatehouse/providers'

/** The provider `http` for email, with the options of a configuration. */
export function httpProvider(url: string): Provider {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  return createProvider({ provider: 'http', url, secret }, { channel: 'email', from: 'shop@example.com' })
}

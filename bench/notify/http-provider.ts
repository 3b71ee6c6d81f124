import { silentLog, systemClock } from '@gatehouse/kit'
import { type Provider, providerKinds } from '@gatehouse/notify'

/** Carries email by HTTP to the provider of the benchmark: the provider `http`, as it is declared in a configuration. */
export function httpProvider(url: string): Provider {
  const kind = providerKinds.find(({ kind }) => kind === 'http')
  if (!kind) throw new Error('there is no provider http')
  return kind.create(
    { provider: 'http', url, secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` },
    {
      name: 'http',
      channel: 'email',
      from: 'shop@example.com',
      publicUrl: 'http://localhost',
      folder: '.',
      clock: systemClock,
      log: silentLog,
    },
  )
}

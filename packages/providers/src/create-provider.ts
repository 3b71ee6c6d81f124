import type { ProviderContext } from './kind/provider-kind.ts'
import { providerKinds } from './kinds.ts'
import type { Provider } from './model/provider.ts'

/**
 * Creates a provider from its options, as an entry of `providers:` in `gatehouse.yaml` has them. What `context` leaves
 * out has a default: the name is the kind, the channel the first of the kind, the sender `no-reply@localhost`, file names
 * refer to the working directory, and the clock is that of the system.
 *
 * @throws RangeError naming every option that is invalid, and what was expected
 *
 * @example
 * const provider = createProvider({ provider: 'smtp', url: 'smtp://localhost:1025' }, { from: 'Shop <hello@example.com>' })
 * const [result] = await provider.send([message], AbortSignal.timeout(provider.timeoutMs))
 * if (result?.kind === 'accepted') console.log('sent', result.providerMessageId)
 */
export function createProvider(options: unknown, context: Partial<ProviderContext> = {}): Provider {
  const name = (options as { readonly provider?: unknown } | null)?.provider
  const kind = providerKinds.find((each) => each.kind === name)
  if (!kind) throw new RangeError(`provider must be one of ${providerKinds.map((each) => each.kind).join(', ')}`)
  const checked = kind.parseOptions(options)
  return kind.createProvider(checked, {
    name: checked.name ?? kind.kind,
    channel: kind.channels[0],
    from: 'no-reply@localhost',
    folder: process.cwd(),
    clock: { now: () => Date.now() },
    ...context,
  })
}

import { type Static, type TObject, type TProperties, Type } from 'typebox'
import type { Channel } from '../model/channel.ts'
import type { Clock } from '../model/clock.ts'
import type { Provider } from '../model/provider.ts'
import type { ReportReader } from '../model/report.ts'
import { checkOptions } from './check-options.ts'

/** What a provider is created with in addition to its own options. */
export interface ProviderContext {
  /** The name of the provider in logs, metrics and the URL of its reports. */
  readonly name: string
  /** One of the channels of the kind. */
  readonly channel: Channel
  /** The sender of email whose options name none: an address or `Name <address>`. */
  readonly from: string
  /**
   * The public URL at which the reports of the provider are received, without a query. It is sent to
   * Twilio with every message; without it Twilio reports nothing. Other providers have it in their own settings.
   */
  readonly reportUrl?: string
  /** The folder to which relative file names in options refer. */
  readonly folder: string
  readonly clock: Clock
}

/** A kind of provider: the schema of its options, and how it is created from them. */
export interface ProviderKind {
  /** The value of the option `provider`, such as `twilio`. */
  readonly kind: string
  readonly channels: readonly [Channel, ...Channel[]]
  /** JSON Schema of the options. */
  readonly optionsSchema: TObject
  /**
   * Checks options against the schema.
   * @throws RangeError naming every option that is invalid
   */
  parseOptions(value: unknown): ProviderOptions
  /**
   * Creates a provider, which opens connections only when it sends.
   * @throws RangeError naming the option that cannot be used, such as a key that is not a key
   */
  createProvider(options: ProviderOptions, context: ProviderContext): Provider
  /**
   * Creates the report reader alone, for a process that sends nothing. Undefined if the provider reports nothing, or its
   * options do not configure reports.
   * @throws RangeError naming the option that cannot be used
   */
  createReportReader(options: ProviderOptions, context: ProviderContext): ReportReader | undefined
}

/** Options that fit the schema of a kind. */
export interface ProviderOptions {
  /** The kind. */
  readonly provider: string
  /** See {@link ProviderContext.name}. Default: the kind. */
  readonly name?: string
}

/** The part of a provider that sends; {@link defineProvider} adds the rest. */
export type MessageSender = Omit<Provider, 'name' | 'channel' | 'reports'>

/** The definition of a kind, from which {@link defineProvider} makes a {@link ProviderKind}. */
export interface ProviderDefinition<Options extends TProperties> {
  readonly kind: string
  readonly channels: readonly [Channel, ...Channel[]]
  readonly description: string
  /** The options of the kind in addition to `provider` and `name`. */
  readonly options: Options
  createSender(options: Static<TObject<Options>>, context: ProviderContext): MessageSender
  /** Left out if the provider reports nothing. */
  createReportReader?(options: Static<TObject<Options>>, context: ProviderContext): ReportReader | undefined
}

/**
 * Defines a kind of provider. Each provider of this package is one such call in a folder of its own.
 *
 * @example
 * export const pager = defineProvider({
 *   kind: 'pager',
 *   channels: ['sms'],
 *   description: 'Messages to pagers.',
 *   options: { url: Type.String() },
 *   createSender: ({ url }) => ({
 *     timeoutMs: 10_000,
 *     send: (messages, signal) => Promise.all(messages.map((message) => page(url, message, signal))),
 *   }),
 * })
 */
export function defineProvider<Options extends TProperties>(definition: ProviderDefinition<Options>): ProviderKind {
  const { kind, channels } = definition
  const optionsSchema = createOptionsSchema(definition)
  const typed = (options: ProviderOptions) => options as unknown as Static<TObject<Options>>
  const createReportReader = (options: ProviderOptions, context: ProviderContext) =>
    definition.createReportReader?.(typed(options), context)
  return {
    kind,
    channels,
    optionsSchema,
    parseOptions: (value) => checkOptions<ProviderOptions>(optionsSchema, value),
    createProvider(options, context) {
      const sender = definition.createSender(typed(options), context)
      const reports = createReportReader(options, context)
      return {
        name: context.name,
        channel: context.channel,
        ...sender,
        ...(reports === undefined ? {} : { reports }),
        async close() {
          await Promise.all([sender.close?.(), reports?.close?.()])
        },
      }
    },
    createReportReader,
  }
}

function createOptionsSchema<Options extends TProperties>({
  kind,
  description,
  options,
}: ProviderDefinition<Options>): TObject {
  return Type.Object(
    {
      provider: Type.Literal(kind),
      name: Type.Optional(
        Type.String({
          pattern: '^[a-z][a-z0-9-]{0,63}$',
          description: 'The name in metrics, timelines and the path of its webhooks. Default: the kind.',
        }),
      ),
      ...options,
    },
    { additionalProperties: false, description },
  )
}

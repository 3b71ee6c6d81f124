import { defaultOptions, defaultPriorityWeights, trackings } from '@gatehouse/notify'
import { Type } from 'typebox'
import { count, seconds, strict, whole } from './numbers.ts'
import { topic } from './topic.ts'

const days = (description: string, fallback: number) => whole(1, 3_650, description, fallback)
const {
  caps,
  attempts,
  pushAttempts,
  patienceMs,
  pushPatienceMs,
  aggregationDelayMs,
  aggregationThreshold,
  morningSpreadMs,
  concurrency,
  backoff,
  breaker,
  retention,
  inboxStreams,
  devicesPerUser,
  receiptDays,
  changeReaders,
  sweepMs,
  bucketLeaseMs,
} = defaultOptions

const tracked = (channel: string) => Type.Optional(Type.Enum([...trackings], { description: `Of ${channel}.` }))
const byChannel = Type.Object(
  { push: tracked('push'), email: tracked('email'), sms: tracked('SMS'), 'in-app': tracked('in-app') },
  { ...strict, description: 'By channel; a channel that is left out is not tracked.' },
)

/** What the workers of the channels do. */
const workers = {
  concurrency: Type.Optional(
    Type.Object(
      {
        push: whole(1, 10_000, 'Of push.', concurrency.push),
        email: whole(1, 10_000, 'Of email.', concurrency.email),
        sms: whole(1, 10_000, 'Of SMS.', concurrency.sms),
        'in-app': whole(1, 10_000, 'Of in-app.', concurrency['in-app']),
      },
      { ...strict, description: 'Calls of providers under way at once, by channel and process.' },
    ),
  ),
  backoff: Type.Optional(
    Type.Object(
      {
        first_seconds: seconds(0.01, 3_600, 'The longest pause after the first failure.', backoff.baseMs),
        factor: Type.Optional(
          Type.Number({
            minimum: 1,
            maximum: 100,
            description: 'By what it grows with each further failure.',
            default: backoff.factor,
          }),
        ),
        max_seconds: seconds(0.01, 86_400, 'No pause is longer, but for what a provider asks for.', backoff.maxMs),
      },
      { ...strict, description: 'Pauses before a delivery is tried again: anything up to these (full jitter).' },
    ),
  ),
  breaker: Type.Optional(
    Type.Object(
      {
        window_seconds: seconds(1, 3_600, 'The span over which calls are counted.', breaker.windowMs),
        min_calls: whole(1, 1_000_000, 'Fewest calls in it before failures say anything.', breaker.minCalls),
        failure_rate: Type.Optional(
          Type.Number({
            minimum: 0.01,
            maximum: 1,
            description: 'The share of failures at which it opens.',
            default: breaker.failureRate,
          }),
        ),
        open_seconds: seconds(1, 86_400, 'For how long, doubled with each probe that fails.', breaker.openMs),
        max_open_seconds: seconds(1, 86_400, 'And no longer.', breaker.maxOpenMs),
      },
      { ...strict, description: 'When a provider is left alone for a while, by all processes.' },
    ),
  ),
  buckets: Type.Optional(
    Type.Object(
      {
        sweep_seconds: seconds(
          1,
          3_600,
          'Within this time each bucket of a distributed database is looked at, where no hint says that it has work.',
          sweepMs,
        ),
        lease_seconds: seconds(
          1,
          600,
          'For how long a process that says nothing more keeps its buckets from the others.',
          bucketLeaseMs,
        ),
      },
      { ...strict, description: 'How processes find and share the work in buckets.' },
    ),
  ),
} as const

const events = Type.Optional(
  Type.Object(
    {
      enabled: Type.Optional(
        Type.Boolean({
          default: true,
          description: 'Whether state changes are kept for GET /v1/events. Those for NATS are kept until it has them.',
        }),
      ),
      readers: whole(1, 100_000, 'Most readers that wait at once, a process.', changeReaders.max),
      readers_per_client: whole(1, 10_000, 'Most of them a client and process.', changeReaders.maxPerClient),
    },
    { ...strict, description: 'GET /v1/events: the state changes of all deliveries.' },
  ),
)

/** `notify:` in the configuration file. */
export const NotifySection = Type.Object(
  {
    cap: whole(0, 1_000_000, 'Most notifications a user gets in a day; critical ones are not counted.', caps.total),
    channel_caps: Type.Optional(
      Type.Object(
        {
          push: count('Most push messages a user and day.'),
          email: count('Most emails a user and day.'),
          sms: count('Most SMS a user and day.'),
          'in-app': count('Most in-app messages a user and day.'),
        },
        { ...strict, description: 'Caps by channel, beside the one for all.' },
      ),
    ),
    priority_caps: Type.Optional(
      Type.Object(
        {
          normal: count('Most of normal priority a user and day.'),
          low: count('Most of low priority a user and day.'),
        },
        { ...strict, description: 'Caps by priority, beside the one for all.' },
      ),
    ),
    attempts: whole(3, 5, 'Tries before a delivery becomes a dead letter.', attempts),
    push_attempts: whole(3, 5, 'Tries of a push before email is tried.', pushAttempts),
    push_patience_seconds: whole(
      10,
      86_400,
      'How long a push waits while its providers take nothing from us (a refused credential, an open breaker, a limit) before email is tried.',
      pushPatienceMs / 1000,
    ),
    patience_seconds: whole(
      60,
      30 * 86_400,
      'How long any other message waits for that before it becomes a dead letter.',
      patienceMs / 1000,
    ),
    aggregation_seconds: whole(1, 86_400, 'From the first of a burst to its flush.', aggregationDelayMs / 1000),
    aggregation_threshold: whole(0, 1_000, 'Items above which one combined message is sent.', aggregationThreshold),
    morning_spread_seconds: whole(
      0,
      3_600,
      'Over how long the messages are spread that waited for the end of quiet hours.',
      morningSpreadMs / 1000,
    ),
    ...workers,
    priority_weights: Type.Optional(
      Type.Object(
        {
          critical: whole(1, 1_000, 'Of critical ones.', defaultPriorityWeights.critical),
          normal: whole(1, 1_000, 'Of normal ones.', defaultPriorityWeights.normal),
          low: whole(1, 1_000, 'Of low ones.', defaultPriorityWeights.low),
        },
        {
          ...strict,
          description:
            'How often deliveries of each priority are sent, relative to the others, while more wait than can be.',
        },
      ),
    ),
    zone: Type.Optional(
      Type.String({ description: 'Time zone of users whose own is not known.', examples: ['Europe/Berlin'] }),
    ),
    locale: Type.Optional(Type.String({ description: 'Language of users whose own is not known.', examples: ['en'] })),
    suppression_days: Type.Optional(
      Type.Object(
        {
          bounced: whole(1, 3_650, 'After a hard bounce.'),
          complained: whole(1, 3_650, 'After a complaint.'),
        },
        {
          ...strict,
          description:
            'How long an address is not used. Left out: until it is lifted, or the user has another address.',
        },
      ),
    ),
    tracking: Type.Optional(
      Type.Union([Type.Enum([...trackings]), Type.Boolean(), byChannel], {
        default: 'off',
        description:
          'What messages report about their reader unless the event type says otherwise: opens (of HTML mails), clicks, both (on), nothing (off); on every channel or by channel.',
      }),
    ),
    tracked_hosts: Type.Optional(
      Type.Array(Type.String({ pattern: '^[a-z0-9.-]+(:[0-9]{1,5})?$' }), {
        uniqueItems: true,
        default: [],
        examples: [['shop.example']],
        description:
          'Hosts whose links are tracked wherever they come from: in lower case, with the port where it is not the usual one, no *. Links to the host of BASE_URL, and to hosts that a text of the template names, are tracked without it.',
      }),
    ),
    receipt_days: whole(
      1,
      3_650,
      'How long the token of a push or an in-app item reports what became of it, in days.',
      receiptDays,
    ),
    topic,
    events,
    inbox_streams: whole(0, 1_000_000, 'Most open streams of in-app feeds a process.', inboxStreams.max),
    inbox_streams_per_user: whole(1, 1_000, 'Most of them a user and process.', inboxStreams.maxPerUser),
    devices_per_user: whole(
      1,
      1_000,
      'Most devices of a user. Registering one more drops a dead one, or else the one that was registered the longest ago.',
      devicesPerUser,
    ),
    retention: Type.Optional(
      Type.Object(
        {
          notification_days: days('Notifications with their timelines.', retention.notificationDays),
          log_days: days('For how long a dedup key prevents a second notification.', retention.logDays),
          dead_letter_days: days('Dead letters.', retention.deadLetterDays),
          inbox_days: days('Items of the in-app feed.', retention.inboxDays),
          dead_device_days: days('Devices that their push service calls gone.', retention.deadDeviceDays),
          link_days: days(
            'Short links of messages; those of in-app items at least as long as the items.',
            retention.linkDays,
          ),
          state_change_days: days('State changes, for GET /v1/events.', retention.stateChangeDays),
        },
        { ...strict, description: 'How long what is kept.' },
      ),
    ),
  },
  { ...strict, description: 'How the notification service behaves.' },
)

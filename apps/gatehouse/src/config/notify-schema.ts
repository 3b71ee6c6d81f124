import { defaultOptions, trackings } from '@gatehouse/notify'
import { Type } from 'typebox'

const strict = { additionalProperties: false } as const

const whole = (minimum: number, maximum: number, description: string, fallback?: number) =>
  Type.Optional(
    Type.Integer({ minimum, maximum, description, ...(fallback === undefined ? {} : { default: fallback }) }),
  )

const count = (description: string) => whole(0, 1_000_000, description)
const days = (description: string, fallback: number) => whole(1, 3_650, description, fallback)
const {
  caps,
  attempts,
  pushAttempts,
  pushPatienceMs,
  aggregationDelayMs,
  aggregationThreshold,
  retention,
  inboxStreams,
} = defaultOptions

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
    aggregation_seconds: whole(1, 86_400, 'From the first of a burst to its flush.', aggregationDelayMs / 1000),
    aggregation_threshold: whole(0, 1_000, 'Distinct actors above which one message is sent.', aggregationThreshold),
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
      Type.Union([...trackings.map((each) => Type.Literal(each)), Type.Boolean()], {
        default: 'off',
        description:
          'What HTML mails tell about their reader where the event type does not say: opens, clicks, both (on), nothing (off).',
      }),
    ),
    inbox_streams: whole(0, 1_000_000, 'Most open streams of in-app feeds a process.', inboxStreams.most),
    inbox_streams_per_user: whole(1, 1_000, 'Most of them a user and process.', inboxStreams.mostPerUser),
    retention: Type.Optional(
      Type.Object(
        {
          notification_days: days('Notifications with their timelines.', retention.notificationDays),
          log_days: days('For how long a dedup key prevents a second notification.', retention.logDays),
          dead_letter_days: days('Dead letters.', retention.deadLetterDays),
          inbox_days: days('Items of the in-app feed.', retention.inboxDays),
          dead_device_days: days('Devices that their push service calls gone.', retention.deadDeviceDays),
        },
        { ...strict, description: 'How long what is kept.' },
      ),
    ),
  },
  { ...strict, description: 'How the notification service behaves.' },
)

import { type Static, Type } from 'typebox'
import { EventTypeName, EventTypeSettings } from '../../catalog/declaration.ts'
import { describeOperation } from '../../request/route-options.ts'
import { QuietHoursSettings } from './preferences.ts'

/** How much is simulated at once. */
const maxEvents = 500
const maxZones = 3

const Instant = (description: string) => Type.String({ format: 'date-time', description })

/** The parameters of `/v1/event-types/{event}/simulate`: the event type need not exist yet. */
export const SimulationParams = Type.Object({ event: EventTypeName })

/** The body of POST /v1/event-types/{event}/simulate. */
export const SimulationBody = Type.Object(
  {
    settings: EventTypeSettings,
    quiet_hours: Type.Optional(QuietHoursSettings),
    time_zones: Type.Array(Type.String({ minLength: 1, maxLength: 64, examples: ['Europe/Berlin'] }), {
      minItems: 1,
      maxItems: maxZones,
      uniqueItems: true,
      description: 'IANA time zones; the simulation runs once for each',
    }),
    events: Type.Array(
      Type.Object(
        {
          at: Instant('When it is received'),
          user_id: Type.Optional(
            Type.String({ minLength: 1, maxLength: 200, description: 'Whom it is for. Default: one and the same' }),
          ),
          data: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'As producers send it' })),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: maxEvents, description: 'Within 31 days' },
    ),
  },
  { title: 'EventTypeSimulationRequest', additionalProperties: false },
)

/** The body of POST /v1/event-types/{event}/simulate. */
export type SimulationBody = Static<typeof SimulationBody>

const Message = Type.Object({
  at: Instant('When it is sent at the earliest, or expires'),
  outcome: Type.Enum(['sent', 'expired']),
  user_id: Type.String(),
  sent_as: Type.Enum(['individual', 'combined']),
  events: Type.Array(Type.Integer(), { description: 'The places of its events in the request, from 0' }),
  actors: Type.Integer({ description: 'Distinct actors' }),
  gathered_until: Type.Optional(Instant('The end of the window that gathered its events')),
  quiet_until: Type.Optional(Instant('The end of the quiet hours that it waited for')),
})

const Zone = Type.Object({
  time_zone: Type.String(),
  quiet: Type.Array(Type.Object({ from: Instant('Their start'), until: Instant('Their end') }), {
    description: 'The quiet hours between the first event and the last message',
  }),
  messages: Type.Array(Message, { description: 'In the order of time' }),
})

const Simulation = Type.Object({ zones: Type.Array(Zone) }, { title: 'EventTypeSimulation' })

/** POST /v1/event-types/{event}/simulate */
export const simulateEventType = describeOperation('eventTypes.simulate', {
  params: SimulationParams,
  body: SimulationBody,
  response: { 200: Simulation },
})

import { IfMatchHeaders, PageQuery, pageSchema } from '@gatehouse/kit'
import { Type } from 'typebox'
import { ChannelList } from '../../catalog/declaration.ts'
import { timeOfDayPattern } from '../../model/delivery/quiet-hours.ts'
import { describeOperation } from '../../request/route-options.ts'
import { NoContent, UserParams } from '../../request/schemas.ts'

const TimeOfDay = Type.String({ pattern: timeOfDayPattern, description: 'A time of day.', examples: ['22:00'] })

/** The quiet hours of a preference. */
export const QuietHoursSettings = Type.Object(
  { start: TimeOfDay, end: TimeOfDay },
  {
    additionalProperties: false,
    description: "Local time of the user's zone; may wrap midnight; start = end means none",
  },
)

/** The body of a preference. */
export const PreferenceSettings = Type.Object(
  {
    channels: Type.Optional(
      Type.Array(ChannelList.items, {
        uniqueItems: true,
        description:
          'Channels allowed for the event type; an empty set means none. Left out: as for *, else the default',
      }),
    ),
    quiet_hours: Type.Optional(QuietHoursSettings),
  },
  { title: 'PreferenceSettings', additionalProperties: false },
)

/** A preference as the API answers it. */
export const PreferenceRecord = Type.Object(
  {
    user_id: Type.String(),
    event_type: Type.String(),
    ...PreferenceSettings.properties,
  },
  { title: 'Preference' },
)

const EventTypeName = Type.String({ minLength: 1, maxLength: 200, description: 'An event type, or * for all others' })

/** The parameters of `/v1/users/{id}/preferences/{event_type}`. */
export const PreferenceParams = Type.Object({ ...UserParams.properties, event_type: EventTypeName })

/** The body of PUT /v1/users/{id}/preferences. */
export const NamedPreferenceSettings = Type.Object(
  { event_type: EventTypeName, ...PreferenceSettings.properties },
  { additionalProperties: false },
)

const one = { 200: PreferenceRecord }

/** GET /v1/users/{id}/preferences */
export const listPreferences = describeOperation('users.preferences.list', {
  params: UserParams,
  querystring: PageQuery,
  response: { 200: pageSchema(PreferenceRecord) },
})

/** PUT /v1/users/{id}/preferences */
export const setPreference = describeOperation('users.preferences.set', {
  params: UserParams,
  headers: IfMatchHeaders,
  body: NamedPreferenceSettings,
  response: one,
})

/** GET /v1/users/{id}/preferences/{event_type} */
export const getPreference = describeOperation('users.preferences.get', { params: PreferenceParams, response: one })

/** PUT /v1/users/{id}/preferences/{event_type} */
export const updatePreference = describeOperation('users.preferences.update', {
  params: PreferenceParams,
  headers: IfMatchHeaders,
  body: PreferenceSettings,
  response: one,
})

/** DELETE /v1/users/{id}/preferences/{event_type} */
export const deletePreference = describeOperation('users.preferences.delete', {
  params: PreferenceParams,
  response: { 204: NoContent },
})

import { ApiError } from '@gatehouse/client'
import { Group, Stack, Text, Title } from '@mantine/core'
import { useRead } from '../../../api/queries.ts'
import { Answer } from '../../../parts/states.tsx'
import { Masked } from '../../../parts/values/masked.tsx'
import { Facts, State } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { RevealRecipient } from './reveal.tsx'

const channels = ['push', 'email', 'sms', 'in-app'] as const

/** By channel whether it reaches the user, and the addresses that notify has. */
export function Reach({ id }: { id: string }) {
  const t = useTexts()
  const standing = useRead('readStanding', { id })
  return (
    <Stack component="section" className="panel" aria-label={t.user.reach}>
      <Title order={2}>{t.user.reach}</Title>
      <Answer action="readStanding" query={standing}>
        {({ reachable, quiet_now: isQuiet }) => (
          <>
            <dl className="reach">
              {channels.map((channel) => (
                <div key={channel}>
                  <dt>{t.user.channels[channel]}</dt>
                  <dd>
                    <State tone={reachable[channel] === 'reachable' ? 'good' : 'careful'}>
                      {codeText(t.user.reachCodes, reachable[channel])}
                    </State>
                  </dd>
                </div>
              ))}
            </dl>
            {isQuiet && (
              <Group>
                <State tone="careful">{t.user.quietNow}</State>
              </Group>
            )}
          </>
        )}
      </Answer>
      <Addresses id={id} />
    </Stack>
  )
}

function Addresses({ id }: { id: string }) {
  const t = useTexts()
  const query = useRead('readRecipient', { user_id: id })
  if (query.error instanceof ApiError && query.error.status === 404)
    return (
      <Text size="sm" c="dimmed">
        {t.user.noRecipient}
      </Text>
    )
  return (
    <Answer action="readRecipient" query={query}>
      {({ email, phone_number: phone, locale, zoneinfo }) => (
        <>
          <Facts
            facts={[
              [t.users.email, email && <Masked key="email">{email}</Masked>],
              [t.user.phone, phone && <Masked key="phone">{phone}</Masked>],
              [t.user.locale, locale],
              [t.user.zone, zoneinfo],
            ]}
          />
          <RevealRecipient
            id={id}
            fields={[...(email === undefined ? [] : ['email']), ...(phone === undefined ? [] : ['phone_number'])]}
          />
        </>
      )}
    </Answer>
  )
}

/** The words for a code of the API; one that is new is shown as it is. */
export function codeText(texts: Readonly<Record<string, string>>, code: string): string {
  return texts[code] ?? code
}

import type { SigningKey } from '@gatehouse/client'
import { useRead } from '../../api/queries.ts'
import { Page } from '../../parts/page.tsx'
import { Answer, Empty } from '../../parts/states.tsx'
import { Rows } from '../../parts/table.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { useTexts } from '../../texts/settings.tsx'

/** The keys that sign tokens: which sign soon, which now, and which only verify. */
export function SigningKeysScreen() {
  const t = useTexts()
  const query = useRead('listSigningKeys')
  return (
    <Page title={t.sections.signingKeys} lead={t.signingKeys.lead}>
      <Answer action="listSigningKeys" query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty text={t.signingKeys.empty} />
          ) : (
            <Rows
              label={t.sections.signingKeys}
              rows={items}
              keyOf={({ kid }) => kid}
              columns={[
                { label: t.signingKeys.kid, render: ({ kid }) => <Id value={kid} /> },
                { label: t.signingKeys.algorithm, render: ({ alg }) => alg },
                { label: t.signingKeys.state, render: (key) => <KeyState state={stateOf(key, Date.now())} /> },
                { label: t.users.created, render: (key) => <Time at={key.created_at} /> },
                { label: t.signingKeys.activates, render: (key) => <Time at={key.activates_at} /> },
                { label: t.signingKeys.expires, render: (key) => <Time at={key.expires_at} /> },
              ]}
            />
          )
        }
      </Answer>
    </Page>
  )
}

type SigningState = 'next' | 'active' | 'retiring'

/** What a key does at a moment: one that will be removed has a successor. */
function stateOf({ activates_at, expires_at }: SigningKey, now: number): SigningState {
  if (Date.parse(activates_at) > now) return 'next'
  return expires_at === undefined ? 'active' : 'retiring'
}

function KeyState({ state }: { state: SigningState }) {
  const t = useTexts()
  return <State tone={state === 'active' ? 'good' : 'neutral'}>{t.signingKeys[state]}</State>
}

import { Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { InputOf } from '../../../../actions/index.ts'
import { useRead } from '../../../api/queries.ts'
import { Answer } from '../../../parts/states.tsx'
import { Facts, Id } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'

/** Where a policy counts a caller: read when it is unfolded. */
export function CounterKeys({ input }: { input: InputOf<'explainLimit'> }) {
  const t = useTexts()
  const [open, setOpen] = useState(false)
  const query = useRead('explainLimit', input, open)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t.callers.keys}</summary>
      {open && (
        <Answer action="explainLimit" query={query}>
          {({ failure_mode: mode, source, breaker, rules }) => (
            <Stack gap="xs" mt="xs">
              <Facts
                facts={[
                  [t.callers.source, source],
                  [t.callers.breaker, breaker],
                  [t.callers.failureMode, mode],
                ]}
              />
              {rules.map(({ name, algorithm, keys }) => (
                <div key={name}>
                  <Text size="sm">
                    {name} <span className="dim">({algorithm})</span>
                  </Text>
                  {keys.map((key) => (
                    <Id key={key} value={key} />
                  ))}
                  {keys.length === 0 && (
                    <Text size="sm" c="dimmed">
                      {t.callers.masked}
                    </Text>
                  )}
                </div>
              ))}
            </Stack>
          )}
        </Answer>
      )}
    </details>
  )
}

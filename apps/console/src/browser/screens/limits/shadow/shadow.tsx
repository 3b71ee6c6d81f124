import { Button, Group, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { useTexts } from '../../../texts/settings.tsx'
import { outOfShadow, type StoredLimit, withoutShadow } from '../declaration.ts'
import type { Draft } from '../draft.tsx'
import { Publish } from '../publish.tsx'
import { Amounts } from '../words.tsx'
import { Comparison } from './comparison.tsx'

interface ShadowProps {
  readonly limit: StoredLimit
  readonly draft: Draft
  readonly canEdit: boolean
}

/** The limits that run in shadow, what they would do, and the way out of it. */
export function Shadow({ limit, draft, canEdit }: ShadowProps) {
  const t = useTexts()
  const [isEnding, setEnding] = useState(false)
  const { declaration = {} } = limit
  return (
    <section className="panel marked" aria-label={t.limit.inShadow}>
      <Title order={2} size="h5">
        {t.limit.inShadow}
      </Title>
      <Text size="sm" c="dimmed" mb="xs">
        {t.limit.shadowLead}
      </Text>
      <Amounts of={declaration.shadow} />
      <Comparison policy={limit.name} />
      {canEdit && (
        <Group gap="xs" mt="sm">
          <Button size="xs" variant="default" onClick={() => draft.change(outOfShadow(declaration))}>
            {t.limit.shadowIntoDraft}
          </Button>
          <Button size="xs" variant="default" onClick={() => setEnding(true)}>
            {t.limit.shadowEnd}
          </Button>
          <Publish
            limit={limit}
            declaration={withoutShadow(declaration)}
            ifMatch={draft.base.etag}
            title={t.limit.shadowEnd}
            text={t.limit.shadowEndText}
            open={isEnding}
            close={() => setEnding(false)}
            onSaved={draft.rebase}
          />
        </Group>
      )}
    </section>
  )
}

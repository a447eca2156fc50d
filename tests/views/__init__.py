from difa.config import Config
from difa.views import TrainingData


def training(documents, language=None, /, *, least=1, encoder=None, **stages):
    """What a view is fitted on: documents, and settings where they are not the usual ones."""
    config = Config().changed({**stages, "privacy": {"least_documents": least}})
    return TrainingData(documents, [], language, config, seed=0, encoder=encoder)
